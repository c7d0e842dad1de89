"""Mails that bring an invitation to a member, and the notification that they follow from."""

import re

from tests.support.mails import PUBLIC_URL, html_of, send, statuses, text_of
from tests.support.members import accept, invite
from ticketing.models.members import Member
from ticketing.services.notifications import numbering

EMAIL = "ada@example.org"


def invited_mail(acme, server):
    numbering.number_all()
    send(acme.app)
    return server.only()


def test_an_invitation_comes_by_mail_with_its_link(acme, server):
    link = invite(acme, EMAIL)["invitation_url"]
    mail = invited_mail(acme, server)
    assert mail["To"] == EMAIL
    assert mail["Subject"] == "An account for you at Acme"
    assert link.startswith(f"{PUBLIC_URL}/console/invitation/in_")
    for part in (text_of(mail), html_of(mail)):
        assert link in part
        assert re.search(r"until .* \(UTC\)", part)


def test_the_notification_has_no_address_and_no_link(acme, server):
    made = invite(acme, EMAIL, "write")
    feed = acme.api().get(f"{acme.path}/notifications", query_string={"type": "member.invited"})
    (told,) = feed.json["data"]
    told["data"].pop("sequence", None)
    assert told["data"] == {"member_id": made["id"], "role": "write"}


def test_an_invitation_that_has_ended_before_its_mail_was_sent_brings_none(acme, server):
    link = invite(acme, EMAIL)["invitation_url"]
    assert accept(acme, link).status_code == 200
    numbering.number_all()
    send(acme.app)
    assert statuses() == [("member_invited", "dropped")]


def test_a_second_invitation_is_in_both_mails(acme, server):
    made = invite(acme, EMAIL)
    again = acme.api().post(f"{acme.path}/members/{made['id']}/invite").json
    numbering.number_all()
    send(acme.app)
    links = [again["invitation_url"] in text_of(mail) for mail in server.mails]
    assert links == [True, True]


def test_the_first_member_of_a_tenant_has_no_address_and_gets_no_mail(acme, server):
    assert Member.select().count() == 1
    numbering.number_all()
    send(acme.app)
    assert statuses() == []

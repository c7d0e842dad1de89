"""What is counted in a day is counted one at a time: requests that come together pass no limit."""

from functools import partial

import pytest

from tests.support.admissions import FREE, given
from tests.support.factories import Api
from tests.support.mails import PUBLIC_URL
from tests.support.order_pages import SAME_ORIGIN
from tests.support.races import meeting_before_writes
from ticketing.limits import LINK_REQUESTS_PER_CLIENT
from ticketing.models.notifications import Mail
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.waiting_list import JOINS_PER_CLIENT

pytestmark = pytest.mark.sql

TOO_MANY = 8
"""So many requests more than a client may make come with the others."""


def post(app, path, address, **form):
    return app.test_client().post(
        path,
        data=form,
        base_url=PUBLIC_URL,
        headers=SAME_ORIGIN,
        environ_overrides={"REMOTE_ADDR": address},
    )


def lost_links(app, number):
    return post(app, "/_f/acme", "192.0.2.1", email=f"{number}@example.org")


def reset(app, number):
    form = {"tenant": "acme", "email": f"{number}@example.org"}
    return post(app, "/console/forgotten", "192.0.2.1", **form)


@pytest.mark.parametrize("ask", [lost_links, reset])
def test_a_client_asks_for_no_more_links_by_asking_at_once(acme, app, database_url, ask):
    wanted = LINK_REQUESTS_PER_CLIENT + TOO_MANY
    answers = meeting_before_writes(
        database_url, "mails", *(partial(ask, app, number) for number in range(wanted))
    )
    codes = sorted(each.status_code for each in answers)
    assert codes == [303] * LINK_REQUESTS_PER_CLIENT + [429] * TOO_MANY
    assert Mail.select().count() == LINK_REQUESTS_PER_CLIENT
    assert all(int(each.headers.get("Retry-After", 1)) <= 86_400 for each in answers)


@pytest.mark.parametrize("addresses", [["192.0.2.1"], [f"2001:db8:1:{n}::1" for n in range(9)]])
def test_a_client_joins_no_more_lists_by_joining_at_once(acme, app, database_url, addresses):
    """Nine /64s of one /48 have three times the limit together, and each its own."""
    ticket = acme.ticket(capacity=1, allow_waitinglist=True, **FREE)
    given(acme, ticket)
    most = JOINS_PER_CLIENT * (1 if len(addresses) == 1 else 3)

    def join(number):
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
        return Api(app.test_client(), {}).post(
            f"{acme.checkout}/waiting-list",
            {**body, "email": f"{number}@example.org"},
            environ_overrides={"REMOTE_ADDR": addresses[number % len(addresses)]},
        )

    answers = meeting_before_writes(
        database_url, "mails", *(partial(join, number) for number in range(most + TOO_MANY))
    )
    assert sorted(each.status_code for each in answers) == [202] * most + [429] * TOO_MANY
    assert WaitingListEntry.select().count() == most

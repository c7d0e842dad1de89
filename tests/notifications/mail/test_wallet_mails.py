"""Mails about changes of the wallet go to every administrator."""

import pytest

from tests.support.factories import cli
from tests.support.mails import html_of, send, tell, text_of

OLD = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
NEW = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@pytest.mark.parametrize(
    ("type", "subject", "until"),
    [
        ("wallet.change_requested", "Your wallet will change: please check", True),
        ("wallet.changed", "Your wallet has changed", False),
        ("wallet.change_canceled", "The change of your wallet is canceled", False),
    ],
)
def test_administrators_hear_of_a_change(acme, server, type, subject, until):
    for name, role in (("boss", "admin"), ("reader", "read")):
        add = ("members", "add", acme.slug, f"{name}@example.org", "--role", role)
        cli(acme.app, *add, "--password-stdin", stdin="correct horse battery\n")
    said = {"kind": "address", "address": NEW, "chain_ids": [8453, 10], "former_address": OLD}
    said |= {"effective_at": "2031-05-04T12:30:00Z" if until else None, "by": "key_x"}
    tell(acme.id, (type, said))
    send(acme.app)
    mail = server.only()
    assert (mail["To"], mail["Subject"]) == ("boss@example.org", subject)
    for part in (text_of(mail), html_of(mail)):
        assert NEW in part and OLD in part and "key_x" in part
        assert "Base, OP Mainnet" in part
        assert ("Sunday, 4 May 2031, 12:30 (UTC)" in part) is until

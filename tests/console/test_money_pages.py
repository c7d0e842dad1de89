"""The console's pages of money: what they show to each role, and what the script is answered."""

import json
import re

import pytest

from tests.support.console import sign_in
from tests.support.factories import CHAIN, new_organizer, worker_once
from tests.support.payouts import OTHER, OWNER, fund, owed, sign, with_address
from tests.support.refunds import account
from ticketing.chain import abi, receivers, refunded_events
from ticketing.models.chains import ChainState
from ticketing.models.payouts import Payout
from ticketing.models.wallets import Wallet
from ticketing.pages import assets
from ticketing.refund_reports import RefundReport
from ticketing.services import chains
from ticketing.worker.watcher import Watcher
from tools import anvil

MONEY = "/console/money"
JSON = "collections", "payouts", "payouts/preview", "signed", "reports"
"""What the script asks."""

SURPLUS = 7_000_000


SCRAPER = "scrape-me-0123456789"


@pytest.fixture
def environ(environ):
    return {**environ, "METRICS_TOKEN": SCRAPER}


@pytest.fixture
def venue(app, node):
    return with_address(app, node)


@pytest.fixture
def boss(venue):
    return sign_in(venue)


def sold(venue, node, number=1):
    ticket = venue.ticket()
    buyers = [venue.buyer(ticket) for _ in range(number)]
    for buyer in buyers:
        buyer.pay(node)
    worker_once(venue.app)
    return buyers


def posted(member, path, **fields):
    return member.send(f"{MONEY}/{path}", {"chain_id": CHAIN, **fields})


UNWITNESSED = {"accept_unwitnessed": "on"}
"""The chain has one URL, so no second node has seen the payments."""


def collected(member, node):
    for each in posted(member, "collections").json["transactions"]:
        anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})


def test_an_empty_page_says_what_will_be_there(console):
    page = console.get(MONEY).text
    assert "Nothing was paid yet" in page and "You owe nobody anything" in page
    assert "Nothing can be moved at the moment" in page
    assert "Nothing can be moved at the moment" in console.get(f"{MONEY}/move").text
    assert "Nothing can be paid back" in console.get(f"{MONEY}/pay-back").text


def test_the_figures_explain_what_came_in(venue, boss, node):
    owed(venue, node, SURPLUS)
    sold(venue, node, 2)
    page = boss.get(MONEY).text
    for text in ("22.00", "15.00", "7.00", "Received = paid back + owed back + kept."):
        assert text in page
    assert "Sent too much" in page and "No name given" in page
    assert "Not decided yet" not in page and "In all" not in page
    collected(boss, node)
    collected(boss, node)
    worker_once(venue.app)
    page = boss.get(MONEY).text
    assert "22.00 USDC on" in page and "3 orders" in page


def test_more_people_than_are_named_are_counted(venue, boss, node):
    owed(venue, node, *[1_000_000] * 5)
    assert "and 2 more" in boss.get(MONEY).text


def test_money_that_is_not_decided_or_waived_is_in_the_sum(venue, boss, node):
    buyer = venue.buyer(venue.ticket())
    worker_once(venue.app)
    buyer.pay(node, 1_000_000)
    worker_once(venue.app)
    page = boss.get(MONEY).text
    assert "Not decided yet" in page and "+ not decided yet + kept." in page


def test_a_reader_sees_the_money_and_no_button(venue, node):
    owed(venue, node, SURPLUS)
    for role in ("read", "write"):
        member = sign_in(venue, role, f"{role}@example.org")
        page = member.get(MONEY).text
        assert "7.00" in page and "Administrators can move it." in page
        assert f"{MONEY}/move" not in page and f"{MONEY}/pay-back" not in page
        for path in ("move", "pay-back", f"move/safe.json?chain_id={CHAIN}"):
            assert member.get(f"{MONEY}/{path}").status_code == 403
        for path in (*JSON, "pay-back", "pay-back/safe"):
            assert posted(member, path, payer=account(node, OTHER)).status_code == 403


def test_a_form_of_another_session_is_refused(boss, node):
    for path in JSON:
        assert posted(boss, path, csrf_token="x").status_code == 403


def test_the_script_is_answered_as_the_api_answers(venue, boss, node):
    sold(venue, node)
    answer = posted(boss, "collections")
    query = {"chain_id": CHAIN}
    assert answer.json == venue.api().get(f"{venue.path}/collections", query_string=query).json
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_list_of_a_payer_has_the_names_of_buyers_and_is_audited(venue, boss, node):
    fund(node, SURPLUS, OTHER)
    (buyer,) = owed(venue, node, SURPLUS)
    unseen = posted(boss, "payouts", payer=account(node, OTHER)).json
    assert [(each["intent_id"], each["reason"]) for each in unseen["blocked"]] == [
        (buyer.intent["id"], "unwitnessed")
    ]
    assert unseen["payments"] == []
    found = posted(boss, "payouts", payer=account(node, OTHER), **UNWITNESSED).json
    assert [each["intent_id"] for each in found["payments"]] == [buyer.intent["id"]]
    assert found["names"] == {}
    (entry, *_) = venue.api().get(f"{venue.path}/audit-log").json["data"]
    assert entry["action"] == "payouts_create_payout" and entry["actor"] != "api"
    sign(node, found, OTHER)
    again = posted(boss, "payouts", payer=account(node, OTHER), **UNWITNESSED).json
    assert again["payments"] == [] and again["left"] == {"orders": 0, "amount": 0}
    assert [each["reason"] for each in again["blocked"]] == ["already_paid"]


def test_the_preview_of_a_list_stores_nothing(venue, boss, node):
    (buyer,) = owed(venue, node, SURPLUS)
    payer = account(node, OTHER)
    found = posted(boss, "payouts/preview", payer=payer).json
    names = found.pop("names")
    query = {"chain_id": CHAIN, "payer": payer}
    assert found == venue.api().get(f"{venue.path}/payouts/preview", query_string=query).json
    assert [each["intent_id"] for each in found["orders"]] == [buyer.intent["id"]] and names == {}
    assert not Payout.select().exists()


def test_a_list_may_be_limited_to_a_thousand_orders(venue, boss, node):
    (buyer,) = owed(venue, node, SURPLUS)
    fields = {"payer": account(node, OTHER), **UNWITNESSED}
    fund(node, SURPLUS, OTHER)
    others = [f"pi_{at:026d}" for at in range(999)]
    found = posted(boss, "payouts", only=[*others, buyer.intent["id"]], **fields).json
    assert [each["intent_id"] for each in found["payments"]] == [buyer.intent["id"]]
    found = posted(boss, "payouts", only=others, **fields).json
    assert [each["reason"] for each in found["blocked"]] == ["not_chosen"]


@pytest.mark.parametrize("kind", RefundReport)
def test_a_report_is_logged_and_counted_and_the_chain_is_read(venue, boss, node, caplog, kind):
    (buyer,) = owed(venue, node, SURPLUS)
    fields = {"kind": str(kind), "tx_hash": "0x" + "ab" * 32, "payer": account(node, OTHER)}
    watcher = Watcher(venue.app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    looked = ChainState.get().looked_at
    answer = posted(boss, "reports", intent_ids=[buyer.intent["id"], "pi_of_nobody"], **fields)
    assert (answer.status_code, answer.json) == (200, {})
    (record,) = [each for each in caplog.records if each.name.endswith("refund_reports")]
    said = record.getMessage()
    assert record.levelname == "ERROR" and "pi_of_nobody" not in said
    for text in (kind, buyer.intent["id"], venue.id, fields["tx_hash"], fields["payer"]):
        assert text in said
    token = {"Authorization": f"Bearer {SCRAPER}"}
    scraped = venue.app.test_client().get("/metrics", headers=token).text
    assert f'ticketing_refund_reports_total{{chain_id="{CHAIN}",kind="{kind}"}} 1.0' in scraped
    watcher.look_if_due()
    assert ChainState.get().looked_at > looked
    watcher.leave()
    assert posted(boss, "payouts/preview", payer=fields["payer"]).json["orders"]


def test_a_report_about_nobodys_order_is_refused(venue, boss, node, caplog):
    owed(venue, node, SURPLUS)
    for ids in ([], ["pi_of_nobody"], ["x" * 81], ["pi_1"] * 101):
        answer = posted(boss, "reports", kind="id_used", intent_ids=ids)
        assert answer.status_code == 422
    assert posted(boss, "reports", kind="theft", intent_ids=["pi_1"]).status_code == 422
    assert not [each for each in caplog.records if each.name.endswith("refund_reports")]


@pytest.mark.parametrize("path", JSON)
def test_an_error_is_a_code_and_a_sentence(venue, boss, node, path):
    answer = posted(boss, path, chain_id=5, payer=account(node, OTHER))
    assert answer.status_code == 422
    assert answer.json == {
        "code": "invalid_request",
        "sentence": "Please correct what is marked below.",
    }


def test_a_network_that_the_wallet_does_not_name_must_be_confirmed(venue, boss, node):
    sold(venue, node)
    Wallet.update(chain_ids=frozenset({1})).execute()
    assert posted(boss, "collections").json["code"] == "owner_not_confirmed"
    assert posted(boss, "collections", owner_confirmed="on").json["transactions"]


def test_after_a_signature_the_chain_is_read_at_full_speed(venue, boss, node):
    watcher = Watcher(venue.app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    looked = ChainState.get().looked_at
    watcher.look_if_due()
    assert ChainState.get().looked_at == looked
    answer = posted(boss, "signed").json
    assert answer["as_of"].startswith(f"{chains.cursor(CHAIN).time:%Y-%m-%dT%H:%M}")
    watcher.look_if_due()
    assert ChainState.get().looked_at > looked
    watcher.leave()


def test_a_safe_gets_what_the_script_gets(venue, boss, node):
    sold(venue, node)
    listed = posted(boss, "collections").json["transactions"]
    file = boss.get(f"{MONEY}/move/safe.json?chain_id={CHAIN}")
    assert "attachment" in file.headers["Content-Disposition"]
    assert json.loads(file.text)["transactions"] == [
        {"to": each["to"], "value": "0", "data": each["data"]} for each in listed
    ]


def test_a_safe_gets_the_list_that_was_shown_and_no_other(venue, boss, node):
    payer = account(node, OTHER)
    fund(node, 3 * SURPLUS, OTHER)
    owed(venue, node, SURPLUS)
    fields = posted(boss, "pay-back", payer=payer, **UNWITNESSED).text.split('/pay-back/safe"')[1]
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', fields.split("</form>")[0]))
    form |= UNWITNESSED
    file = boss.send(f"{MONEY}/pay-back/safe", form)
    assert (file.status_code, file.content_type) == (200, "application/json")
    assert "attachment" in file.headers["Content-Disposition"]
    assert json.loads(file.text)["transactions"][-1]["to"] == receivers.FACTORY
    owed(venue, node, SURPLUS)
    for other in (form, {key: text for key, text in form.items() if key != "shown"}):
        page = boss.send(f"{MONEY}/pay-back/safe", other)
        assert page.status_code == 200 and "Content-Disposition" not in page.headers
        assert "The list has changed since you looked." in page.text


def test_a_wrong_account_is_shown_again_with_the_reason(venue, boss, node):
    owed(venue, node, SURPLUS)
    for path in ("pay-back", "pay-back/safe"):
        answer = posted(boss, path, payer="0x12")
        assert answer.status_code == 422 and "This is not a complete address." in answer.text


def test_an_exchange_pays_by_hand(venue, boss, node):
    owed(venue, node, SURPLUS)
    Wallet.update(is_exchange=True).execute()
    page = boss.get(f"{MONEY}/pay-back").text
    assert "Pay each refund by hand" in page and "money.js" not in page
    assert f'value="{account(node, OWNER)}"' not in page


def test_a_neighbour_sees_nothing_of_it(venue, app, node):
    owed(venue, node, SURPLUS)
    other = sign_in(new_organizer(app, "other"), email="bob@example.org")
    assert "Nothing was paid yet" in other.get(MONEY).text
    found = posted(other, "payouts", payer=account(node, OTHER)).json
    assert found["payments"] == found["blocked"] == found["listed_for_another"] == []
    assert posted(other, "collections").json["transactions"] == []


def test_the_script_knows_the_contracts_of_the_service():
    script = (assets.FOLDER / "money_calls.js").read_text()
    known = {
        "FACTORY": receivers.FACTORY.lower(),
        "PROXY": receivers.PROXY.lower(),
        "REFUNDED": refunded_events.REFUNDED_TOPIC,
        "COLLECT": abi.selector("collect(address,address,bool,bytes32[])"),
        "REFUND": abi.selector("refund(address,uint256,(bytes32,address,uint256)[])"),
        "APPROVE": abi.selector("approve(address,uint256)"),
    }
    for name, value in known.items():
        assert f'const {name} = "{value}"' in script
    assert abi.selector("allowance(address,address)") in script

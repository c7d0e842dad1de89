"""Vouchers: made by organizers, looked up by codes, used by seats."""

import json
import re
from datetime import timedelta

import pytest

from tests.support.factories import PRICE, Api, in_days
from tests.support.races import at_once
from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    NotFound,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
)
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.services.orders import stock, vouchers
from ticketing.services.orders.stock import Move

CODE = "EARLY-BIRD"
RANDOM = re.compile(r"([0-9A-HJKMNP-TV-Z]{4}-){2}[0-9A-HJKMNP-TV-Z]{4}")


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def path(acme, event):
    return f"{acme.path}/events/{event['id']}/vouchers"


def made(admin, path, **fields):
    answer = admin.post(path, {"code": CODE, **fields})
    assert answer.status_code == 201, answer.json
    return answer.json


def errors_of(answer):
    assert answer.status_code == 422, answer.json
    return answer.json["errors"].keys()


def code_of(answer):
    assert answer.status_code == 409, answer.json
    return answer.json["code"]


@pytest.mark.sql
def test_it_creates_reads_changes_and_disables_a_voucher(admin, acme, event, path):
    ticket = acme.ticket(event)
    fields = {
        "max_usages": 12,
        "min_usages": 2,
        "valid_until": in_days(3),
        "price_mode": "percent",
        "value": 20,
        "ticket_ids": [ticket["id"]],
        "tag": "sponsors",
        "comment": "By mail",
    }
    voucher = made(admin, path, code=" early-bird".strip(), **fields)
    assert {name: voucher[name] for name in fields} == fields
    assert (voucher["code"], voucher["status"]) == (CODE, "active")
    assert (voucher["held"], voucher["redeemed"]) == (0, 0)
    assert admin.get(f"{path}/{voucher['id']}").json == voucher

    assert code_of(admin.post(path, {"code": "Early-Bird"})) == "code_taken"
    changed = admin.patch(f"{path}/{voucher['id']}", {"max_usages": 3, "ticket_ids": None})
    assert (changed.json["max_usages"], changed.json["ticket_ids"]) == (3, None)
    assert errors_of(admin.patch(f"{path}/{voucher['id']}", {"code": "OTHER"})) == {"code"}
    for _ in range(2):
        off = admin.post(f"{path}/{voucher['id']}/disable")
        assert (off.status_code, off.json["status"]) == (200, "disabled")
    assert admin.get(f"{path}/vou_none").status_code == 404


def test_a_voucher_without_a_code_gets_one_that_nobody_guesses(admin, path):
    voucher = admin.post(path, {}).json
    assert RANDOM.fullmatch(voucher["code"])
    assert (voucher["max_usages"], voucher["price_mode"], voucher["value"]) == (1, "none", None)


def test_fields_that_contradict_each_other_are_refused(admin, acme, path):
    wrong = (
        ({"price_mode": "none", "value": 1}, "value"),
        ({"price_mode": "percent", "value": 101}, "value"),
        ({"price_mode": "percent", "value": 0}, "value"),
        ({"price_mode": "subtract", "value": 0}, "value"),
        ({"price_mode": "set"}, "value"),
        ({"min_usages": 2}, "min_usages"),
        ({"ticket_ids": [acme.ticket()["id"]]}, "ticket_ids"),
        ({"ticket_ids": []}, "ticket_ids"),
    )
    for fields, name in wrong:
        assert errors_of(admin.post(path, fields)) == {name}
    assert admin.post(path, {"price_mode": "set", "value": 0}).status_code == 201


@pytest.mark.sql
def test_max_usages_does_not_fall_below_what_is_used(admin, path):
    voucher = made(admin, path, max_usages=5)
    use(voucher, held=2, redeemed=1)
    here = f"{path}/{voucher['id']}"
    assert code_of(admin.patch(here, {"max_usages": 2})) == "max_usages_too_low"
    assert admin.patch(here, {"max_usages": 3}).json["status"] == "used_up"


def use(voucher, **columns):
    Voucher.update(columns).where(Voucher.id == voucher["id"]).execute()


@pytest.mark.sql
def test_a_batch_has_as_many_codes_and_the_audit_log_none_of_them(admin, acme, path):
    answer = admin.post(f"{path}/batch", {"count": 500, "prefix": "gold", "tag": "press"})
    assert answer.status_code == 201
    codes = [each["code"] for each in answer.json["vouchers"]]
    assert len(set(codes)) == answer.json["count"] == 500
    assert all(RANDOM.fullmatch(code.removeprefix("GOLD-")) for code in codes)
    made(admin, path)

    entries = [each for each in AuditLogEntry.select() if "voucher" in each.action]
    batch = next(each for each in entries if each.action == "vouchers_create_vouchers")
    after = json.loads(batch.after)
    assert (after["count"], after["tag"], len(after["voucher_ids"])) == (500, "press", 500)
    written = "".join(f"{each.before}{each.after}" for each in entries)
    assert not [code for code in (*codes, CODE) if code in written]

    for count in (0, 501):
        assert errors_of(admin.post(f"{path}/batch", {"count": count})) == {"count"}


@pytest.mark.sql
def test_a_list_is_filtered_by_status_tag_and_text(admin, path):
    early = made(admin, path, tag="a", comment="For Friends")
    used = made(admin, path, code="USED-1", tag="b", price_mode="percent", value=5)
    ended = made(admin, path, code="ENDED", valid_until="2020-01-01T00:00:00Z")
    off = made(admin, path, code="STOPPED")
    use(used, redeemed=1)
    admin.post(f"{path}/{off['id']}/disable")

    def found(**query):
        return [each["id"] for each in admin.get(path, query_string=query).json["data"]]

    of_status = {"active": early, "used_up": used, "expired": ended, "disabled": off}
    for status, voucher in of_status.items():
        assert found(status=status) == [voucher["id"]]
    assert found(tag="b") == [used["id"]]
    assert found(q="used-") == [used["id"]]
    assert found(q="friends") == [early["id"]]
    assert found() == [each["id"] for each in of_status.values()]


def test_a_reader_sees_no_code_and_cannot_search_for_one(acme, admin, path):
    voucher = made(admin, path, comment="x")
    reader = acme.with_headers({"X-API-Key": acme.key("read")})
    (listed,) = reader.get(path).json["data"]
    assert listed == {**voucher, "code": None}
    assert reader.get(f"{path}/{voucher['id']}").json == listed
    assert reader.get(path, query_string={"q": "EARLY"}).json["data"] == []
    assert CODE not in reader.get(f"{path}.csv").text
    assert CODE in admin.get(f"{path}.csv").text
    assert reader.post(path, {}).status_code == 403


def test_what_a_seat_costs():
    def price(mode, value, list_amount):
        return vouchers.price(Voucher(price_mode=mode, value=value), list_amount)

    assert price("none", None, 10) == 10
    assert price("set", 7, 10) == 7
    assert price("set", 7, 5) == 5
    assert price("subtract", 7, 10) == 3
    assert price("subtract", 7, 5) == 0
    assert price("percent", 25, 3) == 3
    assert price("percent", 99, 1) == 1
    assert price("percent", 100, 10**15) == 0


@pytest.fixture
def shop(admin, acme, event, path):
    """An event with a plain, a closed and a hidden ticket type, and a voucher for the last two."""
    types = {
        "plain": acme.ticket(event, name="Plain"),
        "closed": acme.ticket(event, name="Closed", require_voucher=True),
        "hidden": acme.ticket(event, name="Invisible Lounge", hide_without_voucher=True),
    }
    named = [types["closed"]["id"], types["hidden"]["id"]]
    made(admin, path, code="OPEN-ALL", max_usages=3, min_usages=2, ticket_ids=named)
    made(admin, path, price_mode="percent", value=20, max_usages=500)
    return types


def found(acme, event, code):
    return vouchers.find(acme.id, event["id"], code)


@pytest.mark.sql
def test_a_voucher_fits_an_order_or_says_why_not(acme, event, shop):
    plain, closed, hidden = (TicketType.get_by_id(each["id"]) for each in shop.values())
    discount, opener = found(acme, event, CODE), found(acme, event, " open-all ")
    assert vouchers.check_seats(None, [(plain, 2)]) == {}
    assert vouchers.check_seats(discount, [(plain, 2)]) == {plain.id: 2}
    assert vouchers.check_seats(opener, [(plain, 2), (hidden, 3)]) == {hidden.id: 3}

    def reason(voucher, *ordered):
        with pytest.raises(VoucherNotApplicable) as refused:
            vouchers.check_seats(voucher, ordered)
        return refused.value.extensions

    assert reason(opener, (plain, 2)) == {"reason": "not_for_these_tickets"}
    assert reason(opener, (closed, 1)) == {"reason": "too_few_seats"}
    too_many = {"reason": "too_many_seats", "usages_left": 3}
    assert reason(opener, (closed, 2), (hidden, 2)) == too_many
    for voucher in (None, discount):
        with pytest.raises(VoucherRequired):
            vouchers.check_seats(voucher, [(plain, 1), (closed, 1)])
        with pytest.raises(NotFound):
            vouchers.check_seats(voucher, [(plain, 1), (hidden, 1)])


def hold(voucher, seats, now):
    held = vouchers.USAGES.hold(Move(voucher.id, seats), now)
    if held is None:
        raise vouchers.refusal(voucher, now)
    return held


@pytest.mark.sql
def test_fifty_buyers_of_a_one_use_voucher_get_one_seat(acme, event, admin, path):
    made(admin, path)
    voucher = found(acme, event, CODE)

    def try_to():
        try:
            with write_transaction():
                hold(voucher, 1, clock.now())
        except VoucherInvalid:
            return False
        return True

    assert sorted(at_once(*[try_to] * 50)) == [False] * 49 + [True]
    assert Voucher.get_by_id(voucher.id).held == 1


@pytest.mark.sql
def test_usages_move_only_as_far_as_they_are_there(acme, event, admin, path):
    made(admin, path, max_usages=3, valid_until=in_days(1))
    voucher = found(acme, event, CODE)
    now = clock.now()
    assert hold(voucher, 2, now).held == 2
    with pytest.raises(VoucherNotApplicable) as refused:
        hold(voucher, 2, now)
    assert refused.value.extensions["usages_left"] == 1
    with pytest.raises(VoucherInvalid):
        hold(voucher, 1, now + timedelta(days=1))
    usages, one = vouchers.USAGES, Move(voucher.id, 1)
    usages.sell(one, event["id"])
    usages.release(one)
    usages.take_back(one, event["id"])
    for change in (usages.sell, usages.take_back):
        with pytest.raises(stock.StockMoved):
            change(one, event["id"])
    with pytest.raises(stock.StockMoved):
        usages.release(one)
    left = Voucher.get_by_id(voucher.id)
    assert (left.held, left.redeemed) == (0, 0)


# What those who have a code see.


def tickets(acme, event, code, **options):
    path = f"{acme.checkout}/events/{event['id']}/tickets"
    return Api(acme.app.test_client()).get(path, query_string={"voucher": code}, **options)


@pytest.mark.sql
def test_a_code_shows_what_it_opens_and_its_price(acme, event, shop):
    answer = tickets(acme, event, "open-all")
    assert answer.headers["Cache-Control"] == "no-store"
    shown = {each["name"]: each for each in answer.json["data"]}
    assert shown.keys() == {"Plain", "Closed", "Invisible Lounge"}
    assert shown["Plain"]["voucher"] is None
    assert shown["Closed"]["voucher"] == {"price_amount": PRICE}
    assert {each["availability"] for each in shown.values()} == {shown["Plain"]["availability"]}

    shown = {each["name"]: each for each in tickets(acme, event, CODE).json["data"]}
    assert shown.keys() == {"Plain", "Closed"}
    assert shown["Plain"]["voucher"] == {"price_amount": PRICE - PRICE // 5}
    assert shown["Closed"]["voucher"] is None
    assert shown["Closed"]["availability"] == "unavailable"


@pytest.mark.sql
def test_every_code_that_cannot_be_used_gets_the_same_answer(acme, event, admin, path, shop):
    made(admin, path, code="ENDED", valid_until="2020-01-01T00:00:00Z")
    use(made(admin, path, code="USED-UP"), held=1)
    admin.post(f"{path}/{made(admin, path, code='STOPPED')['id']}/disable")
    elsewhere = f"{acme.path}/events/{acme.event()['id']}/vouchers"
    made(admin, elsewhere, code="ELSEWHERE")

    bodies = set()
    for code in ("UNKNOWN", "ENDED", "USED-UP", "STOPPED", "ELSEWHERE", "x", "ÄÖÜ-%%", "A" * 100):
        answer = tickets(acme, event, code, headers={"X-Request-ID": "same"})
        assert answer.status_code == 409
        bodies.add(answer.get_data())
    (body,) = bodies
    assert json.loads(body)["code"] == "voucher_invalid"

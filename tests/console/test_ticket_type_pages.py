"""The console's pages of ticket types."""

import re

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.console import sign_in
from tests.support.factories import in_days, new_organizer

FORM = {
    "name": "Standing",
    "price_amount": "12.50",
    "chain_id": "31337",
    "capacity": "300",
    "min_per_order": "1",
    "max_per_order": "4",
    "sales_start_at": "",
    "sales_end_at": "2030-06-05T18:00",
    "transferable": ["", "on"],
    "requires_key": "",
}


@pytest.fixture
def event(acme):
    return acme.event(status="draft")


@pytest.fixture
def here(event):
    return f"/console/events/{event['id']}/tickets"


@pytest.fixture
def new(writer, here):
    """Create a ticket type by the form, and return its path."""

    def new(**fields):
        answer = writer.send(f"{here}/new", {**FORM, **fields})
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"]

    return new


@pytest.fixture
def read(acme):
    """Read the ticket type of a path."""

    def read(path):
        event_id, _, ticket_id = path.split("/")[-3:]
        return acme.api().get(f"{acme.path}/events/{event_id}/tickets/{ticket_id}").json

    return read


def test_a_price_is_written_in_whole_tokens_and_times_in_the_zone_of_the_event(new, read):
    made = read(new())
    assert (made["price_amount"], made["chain_id"], made["capacity"]) == (12_500_000, 31337, 300)
    assert made["sales_end_at"] == "2030-06-05T16:00:00Z"
    assert (made["transferable"], made["requires_key"]) == (True, False)
    assert (made["status"], made["max_per_order"]) == ("draft", 4)


def test_a_free_ticket_needs_no_network(new, read):
    made = read(new(price_amount="0", chain_id="", capacity=""))
    assert (made["price_amount"], made["chain_id"], made["capacity"]) == (0, None, None)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", ""),
        ("price_amount", "a lot"),
        ("price_amount", "1.2345678"),
        ("chain_id", ""),
        ("capacity", "-1"),
        ("max_per_order", "101"),
        ("min_per_order", "5"),
        ("sales_end_at", "later"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(writer, here, field, wrong):
    answer = writer.send(f"{here}/new", {**FORM, field: wrong})
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert 'value="2030-06-05T18:00"' in answer.text or field == "sales_end_at"


def test_the_same_form_twice_is_one_ticket_type(acme, event, new):
    assert new() == new()
    path = f"{acme.path}/events/{event['id']}/tickets"
    assert len(acme.api().get(path).json["data"]) == 1


def test_the_form_offers_the_only_network(writer, here):
    assert '<option value="31337" translate="no" selected>' in writer.get(f"{here}/new").text


def test_a_ticket_type_is_edited(acme, writer, new, read):
    path = new()
    page = writer.get(f"{path}/edit").text
    for shown in ("12.50", "2030-06-05T18:00", "Standing", "300"):
        assert f'value="{shown}"' in page
    changes = {**FORM, "price_amount": "13", "capacity": "", "transferable": ""}
    assert writer.send(f"{path}/edit", changes).headers["Location"] == f"{path}#saved"
    now = read(path)
    assert (now["price_amount"], now["capacity"], now["transferable"]) == (13_000_000, None, False)
    entry = acme.api().get(f"{acme.path}/audit-log").json["data"][0]
    assert entry["action"] == "ticket_types_change_ticket_type"


def test_each_obstacle_is_a_sentence_with_a_link_that_removes_it(acme, writer, event, here):
    ticket = acme.ticket(event, sales_start_at=in_days(1), capacity=0, status="draft")
    path = f"{here}/{ticket['id']}"
    page = writer.get(path).text
    for link in (
        f"{path}#status",
        f"/console/events/{event['id']}/publish",
        f"{path}/edit#sales_start_at",
        f"{path}/edit",
    ):
        assert f'href="{link}"' in page
    for said in ("is a draft", "event is not published", "has not started", "are sold or held"):
        assert said in page


def test_a_missing_wallet_is_a_link_for_administrators_only(app):
    bare = new_organizer(app, "bare", address=None)
    ticket = bare.ticket(chain_id=8453)
    path = f"/console/events/{ticket['event_id']}"
    boss, other = sign_in(bare), sign_in(bare, "write", "writer@example.org")
    for member in (boss, other):
        page = member.get(path).text
        assert "You have no wallet" in page and "network does not accept payments" in page
        assert f'href="{path}/tickets/{ticket["id"]}/edit#chain_id"' in page
    assert 'href="/console/wallet">Set' in boss.get(path).text
    assert 'href="/console/wallet">Set' not in other.get(path).text


def test_a_ticket_type_is_published_taken_back_and_ended(writer, new, read):
    path = new()
    for status in ("published", "draft", "canceled"):
        answer = writer.send(f"{path}/status", {"status": status})
        assert answer.headers["Location"] == f"{path}#changed"
        assert read(path)["status"] == status
    assert f"{path}/cancel" not in writer.get(path).text


def test_ending_the_sale_says_what_it_means(acme, writer):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    acme.buyer(ticket).purchase()
    path = f"/console/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert "they stay valid</dt><dd>1</dd>" in writer.get(f"{path}/cancel").text


def test_all_of_its_fields_are_in_the_form(writer, new, read):
    fields = {
        "description": "With a drink.\r\nAnd a view.",
        "group_heading": "Upstairs",
        "free_price": ["", "on"],
        "max_price_amount": "99.5",
        "admission": ["", "on"],
        "requires_ticket": ["", "on"],
    }
    path = new(**fields)
    made = read(path)
    assert (made["description"], made["group_heading"]) == (
        "With a drink.\nAnd a view.",
        "Upstairs",
    )
    assert (made["free_price"], made["max_price_amount"]) == (True, 99_500_000)
    assert (made["admission"], made["requires_ticket"]) == (True, True)
    page = writer.get(f"{path}/edit").text
    for shown in ("With a drink.\nAnd a view.", 'value="Upstairs"', 'value="99.50"'):
        assert shown in page
    for name in ("free_price", "admission", "requires_ticket"):
        assert f'name="{name}" value="on" checked' in page
    for shown in ("With a drink.", "Upstairs", "up to 99.50 USDC", "only together"):
        assert shown in writer.get(path).text
    empty = {"description": "", "group_heading": "", "max_price_amount": ""}
    boxes = {"free_price": "", "admission": "", "requires_ticket": ""}
    assert writer.send(f"{path}/edit", {**FORM, **empty, **boxes}).status_code == 303
    now = read(path)
    assert (now["description"], now["group_heading"], now["max_price_amount"]) == (None,) * 3
    assert (now["free_price"], now["admission"], now["requires_ticket"]) == (False,) * 3


def test_what_a_used_one_is_cannot_change(acme, writer, event, here):
    ticket = acme.ticket(event, status="draft")
    acme.api().post(
        f"{acme.path}{here.removeprefix('/console')}/{ticket['id']}/admissions",
        {"holders": [{"name": "Ada"}]},
    )
    answer = writer.send(f"{here}/{ticket['id']}/edit", {**FORM, "admission": ""})
    assert answer.status_code == 409 and "People have it already" in answer.text


def order_of(acme, event):
    path = f"{acme.path}/events/{event['id']}/tickets"
    return "".join(each["name"] for each in acme.api().get(path).json["data"])


def test_it_moves_up_and_down_and_to_any_place(acme, writer, event, here):
    ids = {name: acme.ticket(event, name=name, status="draft")["id"] for name in "ABCD"}
    page = writer.get(f"/console/events/{event['id']}").text
    assert page.count("/move") == 6
    assert 'aria-label="Move A down"' in page and 'aria-label="Move A up"' not in page
    for name, place, wanted in (
        ("B", 0, "BACD"),
        ("B", 1, "ABCD"),
        ("D", 0, "DABC"),
        ("D", 99, "ABCD"),
        ("C", 2, "ABCD"),
    ):
        answer = writer.send(f"{here}/{ids[name]}/move", {"place": str(place)})
        assert answer.headers["Location"] == f"/console/events/{event['id']}#{ids[name]}"
        assert order_of(acme, event) == wanted
    log = acme.api().get(f"{acme.path}/audit-log").json["data"]
    assert log[3]["action"] == "ticket_types_change_ticket_type"
    assert (log[3]["before"]["position"], log[3]["after"]["position"]) == (0, 1)
    assert acme.ticket(event, name="E")["position"] == 4 and order_of(acme, event) == "ABCDE"


def test_only_who_may_write_moves_and_only_own_ticket_types(
    acme, neighbour, reader, writer, event, here
):
    ticket = acme.ticket(event, name="A")
    acme.ticket(event, name="B")
    path = f"{here}/{ticket['id']}/move"
    assert "/move" not in reader.get(f"/console/events/{event['id']}").text
    assert reader.send(path, {"place": "1"}).status_code == 403
    assert sign_in(neighbour).send(path, {"place": "1"}).status_code == 404
    for wrong in ({}, {"place": "-1"}, {"place": "x"}, {"place": "1", "other": "1"}):
        assert writer.send(path, wrong).status_code == 422
    assert order_of(acme, event) == "AB"


def test_a_reader_changes_nothing(reader, new, here):
    path = new()
    page = reader.get(path).text
    assert f"{path}/edit" not in page and f"{path}#status" not in page
    for closed in (f"{here}/new", f"{path}/edit"):
        assert reader.get(closed).status_code == 403
        assert reader.send(closed, FORM).status_code == 403
    assert reader.get(f"{path}/cancel").status_code == 403
    assert reader.send(f"{path}/status", {"status": "published"}).status_code == 403


def test_the_ticket_types_of_a_neighbour_do_not_exist(neighbour, new, here):
    other, path = sign_in(neighbour), new()
    for closed in (path, f"{path}/edit", f"{path}/cancel", f"{here}/new"):
        assert other.get(closed).status_code == 404
    for closed in (f"{path}/edit", f"{here}/new"):
        assert other.send(closed, FORM).status_code == 404
    assert other.send(f"{path}/status", {"status": "published"}).status_code == 404


@pytest.fixture
def three_chains(environ):
    for chain_id in (8453, 31338):
        environ[f"RPC_URL_{chain_id}"] = UNREACHABLE_RPC


def boxes(page):
    return re.findall(r'name="also_on" value="(\d+)"( checked)?>', page)


def test_further_networks_are_boxes_under_the_proposed_one(three_chains, writer, here, new, read):
    page = writer.get(f"{here}/new").text
    assert boxes(page) == [("8453", ""), ("31337", ""), ("31338", "")]
    path = new(chain_id="31338", also_on=["", "8453", "31338"])
    assert (read(path)["chain_id"], read(path)["chain_ids"]) == (31338, [31338, 8453])
    assert "<dd>Local 2, Base</dd>" in re.sub(r"</?bdi>", "", writer.get(path).text)
    page = writer.get(f"{path}/edit").text
    assert boxes(page) == [("31338", ""), ("8453", " checked"), ("31337", "")]
    changed = {**FORM, "chain_id": "31337", "also_on": ["", "8453", "31338"]}
    assert writer.send(f"{path}/edit", changed).status_code == 303
    assert read(path)["chain_ids"] == [31337, 8453, 31338]
    assert writer.send(f"{path}/edit", {**changed, "also_on": ""}).status_code == 303
    assert read(path)["chain_ids"] == [31337]


def test_a_refused_form_keeps_its_boxes(three_chains, writer, here):
    answer = writer.send(f"{here}/new", {**FORM, "name": "", "also_on": ["", "8453"]})
    assert answer.status_code == 422
    assert boxes(answer.text) == [("8453", " checked"), ("31337", ""), ("31338", "")]

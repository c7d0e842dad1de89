"""The console's pages of vouchers."""

import csv

import pytest

FORM = {
    "code": "early-bird",
    "max_usages": "5",
    "min_usages": "1",
    "price_mode": "subtract",
    "value": "2.50",
    "valid_until": "2030-06-05T18:00",
    "ticket_ids": "",
    "tag": "press",
    "comment": "For friends",
}


@pytest.fixture
def event(acme):
    return acme.event(timezone="Europe/Berlin")


@pytest.fixture
def here(event):
    return f"/console/events/{event['id']}/vouchers"


@pytest.fixture
def path(acme, event):
    return f"{acme.path}/events/{event['id']}/vouchers"


def created(writer, here, **fields):
    answer = writer.send(f"{here}/new", {**FORM, **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def test_amounts_are_whole_tokens_and_times_in_the_zone_of_the_event(acme, writer, here, path):
    made = acme.api().get(f"{path}/{created(writer, here).split('/')[-1]}").json
    assert (made["code"], made["value"]) == ("EARLY-BIRD", 2_500_000)
    assert made["valid_until"] == "2030-06-05T16:00:00Z"
    assert made["ticket_ids"] is None


def test_a_percentage_is_a_whole_number(acme, writer, here, path):
    made = created(writer, here, price_mode="percent", value="20")
    assert acme.api().get(f"{path}/{made.split('/')[-1]}").json["value"] == 20
    refused = writer.send(f"{here}/new", {**FORM, "price_mode": "percent", "value": "2.5"})
    assert refused.status_code == 422
    assert 'id="value-error"' in refused.text


def test_it_is_changed_and_disabled(acme, writer, event, here, path):
    ticket = acme.ticket(event)
    made = created(writer, here)
    shown = writer.get(made).text
    assert f"/{acme.slug}/{event['slug']}?voucher=EARLY-BIRD" in shown
    form = {name: text for name, text in FORM.items() if name != "code"}
    changed = writer.send(made, {**form, "max_usages": "9", "ticket_ids": ["", ticket["id"]]})
    assert changed.status_code == 303, changed.text
    voucher = f"{path}/{made.split('/')[-1]}"
    now = acme.api().get(voucher).json
    assert (now["max_usages"], now["ticket_ids"]) == (9, [ticket["id"]])
    writer.send(made, {**form, "max_usages": "9"})
    assert acme.api().get(voucher).json["ticket_ids"] is None
    assert writer.send(f"{made}/disable", {}).status_code == 303
    assert acme.api().get(voucher).json["status"] == "disabled"


def test_many_are_made_at_once_and_downloaded(acme, writer, reader, here, path):
    batch = {name: text for name, text in FORM.items() if name != "code"}
    for _ in range(2):  # a double click makes no second batch
        sent = {**batch, "count": "500", "prefix": "gold", "idempotency_key": "k" * 32}
        assert writer.send(f"{here}/batch", sent).status_code == 303
    rows = list(csv.DictReader(writer.get(f"{here}.csv").text.removeprefix("\ufeff").splitlines()))
    assert len({row["code"] for row in rows}) == len(rows) == 500
    rows = list(csv.DictReader(reader.get(f"{here}.csv").text.removeprefix("\ufeff").splitlines()))
    assert {row["code"] for row in rows} == {""}


def test_a_reader_sees_uses_by_tag_but_no_code(writer, reader, here):
    made = created(writer, here)
    page = reader.get(here).text
    assert "EARLY-BIRD" not in page
    assert "Uses by tag" in page
    assert "For friends" in page
    assert reader.get(made).status_code == 403
    assert reader.get(f"{here}/new").status_code == 403
    assert "EARLY-BIRD" in writer.get(f"{here}?status=active&tag=press&q=early").text
    assert "EARLY-BIRD" not in writer.get(f"{here}?status=used_up").text

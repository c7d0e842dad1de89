"""What is done with vouchers, while the plans of all queries are recorded."""

import itertools
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from tests.support.admissions import admissions_of, void
from tests.support.factories import Api, in_days
from tests.support.mails import PUBLIC_URL
from tests.support.query_plans.admissions_drive import post_twice
from tests.support.query_plans.catalog_drive import MemberBrowser
from ticketing import clock, ids
from ticketing.constants import VoucherStatus
from ticketing.models.events import Event
from ticketing.models.vouchers import Voucher

OPEN, TAG, WORD = "OPEN-NOW", "press", "night"
_OTHERS = 3000
_FORM = {"code": "", "max_usages": "2", "min_usages": "1", "price_mode": "none", "value": ""}


def fill_vouchers(crowded: Event) -> None:
    """Give an event three vouchers of each status, and others many."""
    now = clock.now()
    past = datetime.fromisoformat(in_days(-1).replace("Z", "+00:00"))
    states: tuple[dict[str, Any], ...] = (
        {},
        {"max_usages": 0},  # used up, as the books without orders say
        {"valid_until": past},
        {"disabled_at": now},
    )
    events = list(Event.select().order_by(Event.id))

    def row(event: Event, code: str, **fields: Any) -> dict[str, Any]:
        plain = {"tag": TAG, "comment": WORD, "redeemed": 0, "valid_until": None}
        return {
            "id": ids.new(ids.VOUCHER),
            "tenant": event.tenant_id,
            "event": event.id,
            "code": code,
            "max_usages": 1,
            "price_mode": "none",
            "created_at": now,
            "updated_at": now,
            "disabled_at": None,
            **plain,
            **fields,
        }

    rows = [row(crowded, f"CROWD-{n}", **states[n % 4]) for n in range(1, 13)]
    rows.append(row(crowded, OPEN))
    rows += [row(events[n % len(events)], f"OTHER-{n}") for n in range(_OTHERS)]
    for place in range(0, len(rows), 500):
        Voucher.insert_many(rows[place : place + 500]).execute()


class VouchersDrive:
    """The part of the drive that makes vouchers and looks at them."""

    app: Any
    acme: Any
    crowded: Event

    def use_vouchers(self) -> None:
        """Make vouchers by the API and in the console, and open pages with their codes."""
        self._by_api()
        member = MemberBrowser(self.app, "fair", "codes@example.org")
        here = f"/console/events/{self.crowded.id}/vouchers"
        filters = ((None, *VoucherStatus), (None, TAG), (None, WORD))
        for values in itertools.product(*filters):
            asked = dict(zip(("status", "tag", "q"), values, strict=True))
            member.page_through(f"{here}?{urlencode({k: v for k, v in asked.items() if v})}")
        member.open(f"{here}.csv")
        for name in ("new", "batch"):
            member.open(f"{here}/{name}")
        made = member.press(f"{here}/new", _FORM)
        batch = {name: text for name, text in _FORM.items() if name != "code"}
        member.press(f"{here}/batch", {**batch, "count": "3", "prefix": ""})
        member.open(made)
        member.press(made, {"max_usages": "3"})
        member.press(f"{made}/disable", {})

    def _by_api(self) -> None:
        me, anybody = self.acme.api(), Api(self.app.test_client())
        ticket = self.acme.ticket()
        here = f"{self.acme.path}/events/{ticket['event_id']}"
        fields = {"ticket_ids": [ticket["id"]], "max_usages": 5}
        fields |= {"price_mode": "percent", "value": 100}
        voucher = post_twice(me, f"{here}/vouchers", fields).json
        post_twice(me, f"{here}/vouchers/batch", {"count": 3})
        path = f"{here}/vouchers/{voucher['id']}"
        assert me.get(path).status_code == 200
        assert me.patch(path, {"max_usages": 6, "ticket_ids": None}).status_code == 200
        with me.get(f"{here}/vouchers.csv") as answer:
            assert answer.status_code == 200
        code = {"voucher": voucher["code"]}
        slug = me.get(here).json["slug"]
        for path_with_code in (
            f"{self.acme.checkout}/events/{ticket['event_id']}/tickets",
            f"/{self.acme.slug}/{slug}",
        ):
            for query, status in ((code, 200), ({"voucher": "GUESS"}, 409)):
                answer = anybody.get(path_with_code, query_string=query, base_url=PUBLIC_URL)
                assert answer.status_code == status, answer.text
        self._order(ticket, voucher["code"])
        post_twice(me, f"{path}/disable", None)

    def _order(self, ticket: dict[str, Any], code: str) -> None:
        """Order with a code: confirm, void and show one order, and cancel another one."""
        sold, canceled = (self.acme.buyer(ticket, voucher=code) for _ in range(2))
        assert sold.purchase().status_code == canceled.cancel().status_code == 200
        me = self.acme.api()
        for path in (f"intents/{sold.intent['id']}", "intents", "reconciliation"):
            assert me.get(f"{self.acme.path}/{path}").status_code == 200
        (seat,) = admissions_of(sold)
        assert void(self.acme, seat).status_code == 200
        self.acme.buyer(ticket, voucher=code)
        status = f"{self.acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}/status"
        assert me.post(status, {"status": "canceled"}).status_code == 200

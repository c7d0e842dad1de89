"""What the buyers of a sale order, as a body for the API and as fields of the page's form.

A plain order is one ticket. A full order has three ticket types, a voucher, a network that the
buyer chooses, and the answer to a question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode


@dataclass(frozen=True)
class Goods:
    """The ticket types of one event, and what an order of one of each needs.

    `page` is the path of the event's page. Of `chain_ids` the buyer chooses one; with none, the
    order is for the only network of its ticket types. `answers` are by the question's identifier.
    """

    event_id: str
    page: str
    ticket_ids: Sequence[str]
    chain_ids: Sequence[int] = ()
    code: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def page_with_code(self) -> str:
        """The path of the event's page after the buyer has used the voucher's code there."""
        return f"{self.page}?{urlencode({'voucher': self.code or ''})}"

    def body(self, chain_id: int | None = None) -> dict[str, Any]:
        """Return the body of a preflight."""
        if len(self.ticket_ids) == 1:
            return {"event_id": self.event_id, "ticket_id": self.ticket_ids[0]}
        return {
            "event_id": self.event_id,
            "items": [{"ticket_id": each, "quantity": 1} for each in self.ticket_ids],
            "voucher": self.code,
            "chain_id": chain_id,
            "answers": dict(self.answers),
        }

    def form(self, key: str, chain_id: int | None = None) -> dict[str, str]:
        """Return the fields of the order form with this hidden key."""
        fields = {"idempotency_key": key, "email": "", "name": ""}
        if len(self.ticket_ids) == 1:
            return {**fields, "ticket_id": self.ticket_ids[0], "quantity": "1"}
        fields |= {f"quantity.{each}": "1" for each in self.ticket_ids}
        fields |= {f"answers.{name}": text for name, text in self.answers.items()}
        return {**fields, "voucher": self.code or "", "chain_id": str(chain_id)}

"""Where refunds go: statements of buyers, and the buttons in the mails about them."""

import re
from typing import Any

from tests.support.factories import Api, Buyer, Organizer
from tests.support.mails import text_of
from tests.support.order_pages import SAME_ORIGIN
from ticketing import links
from ticketing.models.refunds import RefundAddress

_LINK = re.compile(r"https?://[^/\s]+(/_r/\S+)")


def link_of(buyer: Buyer, number: int = -1) -> str:
    """The path behind the buttons of a statement, by default of the last one.

    It is made as the service makes it, from its key and its database.
    """
    rows = RefundAddress.select().where(
        RefundAddress.intent == buyer.intent["id"], RefundAddress.confirm_salt.is_null(False)
    )
    row = list(rows.order_by(RefundAddress.id))[number]
    keyring = buyer.organizer.app.extensions["ticketing"].keyring
    return links.payee_change(row.intent_id, row.id, row.confirm_salt, keyring)


def links_in(mail: Any) -> dict[str, str]:
    """The paths of a mail's buttons: `confirm` and `stop`."""
    found = _LINK.findall(text_of(mail))
    return {"stop" if path.endswith("/stop") else "confirm": path for path in found}


def ask(organizer: Organizer, path: str, method: str = "GET", **options: Any) -> Any:
    """Send a request for a page, to the address that mails have."""
    base_url = organizer.app.extensions["ticketing"].public_url
    client = organizer.app.test_client()
    return client.open(path, method=method, base_url=base_url, **options)


def press(organizer: Organizer, path: str, *, headers: Any = SAME_ORIGIN) -> Any:
    """Press the button of the page behind a link."""
    return ask(organizer, path, "POST", data={}, headers=headers)


def confirm(buyer: Buyer, number: int = -1) -> None:
    """Press "Send it there now" of a statement."""
    answer = press(buyer.organizer, link_of(buyer, number))
    assert answer.status_code == 303, answer.text


def stop(buyer: Buyer, number: int = -1) -> None:
    """Press "This wasn't me" of a statement."""
    answer = press(buyer.organizer, f"{link_of(buyer, number)}/stop")
    assert answer.status_code == 303, answer.text


def state_only(buyer: Buyer, address: str, **fields: Any) -> Any:
    """State where money goes, with the order's link. It waits."""
    return buyer.api.post(f"{buyer.path}/refund-address", {"address": address, **fields})


def state(buyer: Buyer, address: str, **fields: Any) -> Any:
    """State where money goes, and press the button in the mail. Return the first answer."""
    answer = state_only(buyer, address, **fields)
    if answer.status_code == 200 and waits(buyer):
        confirm(buyer)
    return answer


def waits(buyer: Buyer) -> bool:
    """Whether a statement of an order waits."""
    rows = RefundAddress.select().where(
        RefundAddress.intent == buyer.intent["id"], RefundAddress.waits
    )
    return bool(rows.exists())


def enter(
    organizer: Organizer, buyer: Buyer, address: str, role: str = "admin", **fields: Any
) -> Any:
    """Enter an address that the buyer told the organizer."""
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/payee"
    body = {"address": address, "reason": "Ada called", **fields}
    return organizer.api(role).put(path, body)


def payee(organizer: Organizer, buyer: Buyer) -> dict[str, Any]:
    """What an organizer sees of the payee of the only refund of an order that is due."""
    query = {"limit": 100}
    answer = organizer.api("read").get(f"{organizer.path}/refunds", query_string=query)
    (found,) = (each for each in answer.json["data"] if each["intent_id"] == buyer.intent["id"])
    state_of_payee: dict[str, Any] = {"address": found["refund_address"], **found["payee"]}
    return state_of_payee


def order_link_in(mail: Any) -> str | None:
    """The secret of the order's link in a mail. None: it has no such link."""
    found = re.search(r"/o/(\S+)", text_of(mail))
    return None if found is None else found[1]


def with_link(organizer: Organizer, link: str) -> Api:
    """A client of somebody who has an order's link."""
    return organizer.with_headers({"Authorization": f"Bearer {link.partition('.')[2]}"})

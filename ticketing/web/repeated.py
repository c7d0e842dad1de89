"""What repeated responses show of secrets, which are stored in no response.

The secret of an order is derived. The codes of vouchers are money. A ticket may have changed hands.
"""

from typing import Any

from schemas.admissions import HeldAdmissionSchema
from ticketing import credentials
from ticketing.services import admission_views
from ticketing.services.orders import holders, intents, vouchers
from ticketing.web.context import config, tenant_of_path

IN_ORDER = "voucher.code"
"""What is not stored of an order."""

IN_ADMISSION = ("code", "qr", "online_join_url", "holder", "answers")
"""What the response to a change shows only while the admission has the same generation."""

_NOBODY = {"name": None, "email": None}


def order_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of the voucher of an order."""
    voucher = stored["voucher"]
    return {} if voucher is None else {"voucher": _with_codes([voucher])[0]}


def client_secret_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a new order: its secret, and the code of its voucher.

    NotFound if the organizer has ended the order's links since.
    """
    intents.find_by_link(stored["id"], generation=0)
    secret = credentials.client_secret(config().keyring.current, stored["id"], generation=0)
    return {"client_secret": secret, **order_again(stored)}


def voucher_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a voucher."""
    return _with_codes([stored])[0]


def batch_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a batch of vouchers."""
    return {"vouchers": _with_codes(stored["vouchers"])}


def _with_codes(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    codes = vouchers.codes(each["id"] for each in stored)
    return [{**each, "code": codes.get(each["id"])} for each in stored]


def held_again(stored: dict[str, Any], *, shows_code: bool) -> dict[str, Any]:
    """Return what a repeat shows of an admission: it as it is now, if it has not changed hands."""
    admission = holders.get(tenant_of_path().id, stored["id"], None)
    if admission.generation != stored["generation"]:
        return {"holder": _NOBODY, "answers": {}}
    shown = admission_views.for_holder(admission, config().keyring, shows_code=shows_code)
    again: dict[str, Any] = HeldAdmissionSchema().dump(shown)
    return again

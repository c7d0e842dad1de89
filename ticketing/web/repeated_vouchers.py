"""The codes of vouchers in repeated responses. They are money: no response is stored with them."""

from typing import Any

from ticketing.services.orders import vouchers

IN_ORDER = "voucher.code"
"""What is not stored of an order."""


def order_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of the voucher of an order."""
    voucher = stored["voucher"]
    return {} if voucher is None else {"voucher": _with_codes([voucher])[0]}


def voucher_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a voucher."""
    return _with_codes([stored])[0]


def batch_again(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat shows of a batch of vouchers."""
    return {"vouchers": _with_codes(stored["vouchers"])}


def _with_codes(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    codes = vouchers.codes(each["id"] for each in stored)
    return [{**each, "code": codes.get(each["id"])} for each in stored]

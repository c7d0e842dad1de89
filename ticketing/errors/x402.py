"""The errors of orders that are paid with a signed transfer, by x402 or without a network fee."""

from collections.abc import Mapping
from typing import Any

from ticketing.errors.base import BadRequest, Conflict, Gone, NotFound, PaymentRequired


class InvalidPayment(BadRequest):
    """The x402 payment cannot be parsed, or it is for no order here. It does not say which."""

    detail = "PAYMENT-SIGNATURE is not a valid x402 payment for an order of this path."


class X402PaymentRequired(PaymentRequired):
    """An x402 client must sign a payment. `requirements` is the content of PAYMENT-REQUIRED."""

    code = PaymentRequired.code

    def __init__(self, requirements: Mapping[str, Any], **extensions: Any) -> None:
        super().__init__(requirements["error"], **extensions)
        self.requirements = requirements


class X402NotEnabled(NotFound):
    """The operator has named no facilitator for the chain of the ticket type."""

    detail = "This ticket type cannot be bought with x402 here. Order it by preflight."


class GaslessNotEnabled(NotFound):
    """The order is free, or the operator has named no facilitator for its chain."""

    detail = "This order cannot be paid without a network fee. Pay it by a transfer."


class X402ShareHeld(Conflict):
    detail = "Unpaid x402 orders hold too many seats of this ticket type. Retry, or use preflight."
    retry_after = 60


class X402CallsUsed(Conflict):
    """The facilitator was asked as often as it may be for one order."""

    detail = "Too many payments of this order were refused. Pay it by a transfer, or order again."


class PaymentSent(Conflict):
    detail = "This order is paid, or a payment of it is on its way. Do not sign again."


class TransferOutdated(Conflict):
    detail = "What you signed is not what is due now, or its time is over. Read again what to sign."


class TransferRefused(Conflict):
    """The facilitator did not submit the transfer, and the chain does not have it."""

    detail = "The facilitator refused the transfer. Nothing was paid: you can sign again."


class OrderEnded(Gone):
    detail = "This order has ended. Send the request without PAYMENT-SIGNATURE for a new one."

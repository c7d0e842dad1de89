"""The errors of x402, each with its code and status.

BadRequest
└── InvalidPayment            400  invalid_payment
PaymentRequired
└── SignatureRequired         402  payment_required
NotFound
├── X402NotEnabled            404  x402_not_enabled
└── GaslessNotEnabled         404  gasless_not_enabled
Conflict
├── X402ShareHeld             409  x402_share_held
├── X402CallsUsed             409  x402_calls_used
├── PaymentSent               409  payment_sent
├── TransferOutdated          409  transfer_outdated
└── TransferRefused           409  transfer_refused
Gone
└── OrderEnded                410  order_ended
"""

from collections.abc import Mapping
from typing import Any

from ticketing.errors import BadRequest, Conflict, Gone, NotFound, PaymentRequired


class InvalidPayment(BadRequest):
    """The x402 payment cannot be parsed, or it is for no order here. It does not say which."""

    code = "invalid_payment"
    detail = "PAYMENT-SIGNATURE is not a valid x402 payment for an order of this path."


class SignatureRequired(PaymentRequired):
    """An x402 client must sign a payment. `requirements` is the content of PAYMENT-REQUIRED."""

    def __init__(self, requirements: Mapping[str, Any], **extensions: Any) -> None:
        super().__init__(requirements["error"], **extensions)
        self.requirements = requirements


class X402NotEnabled(NotFound):
    """The operator has named no facilitator for the chain of the ticket type."""

    code = "x402_not_enabled"
    detail = "This ticket type cannot be bought with x402 here. Order it by preflight."


class GaslessNotEnabled(NotFound):
    """The order is free, or the operator has named no facilitator for its chain."""

    code = "gasless_not_enabled"
    detail = "This order cannot be paid without a network fee. Pay it by a transfer."


class X402ShareHeld(Conflict):
    """Unpaid x402 orders hold as many seats of the ticket type as they may."""

    code = "x402_share_held"
    detail = "Unpaid x402 orders hold too many seats of this ticket type. Retry, or use preflight."
    retry_after = 60


class X402CallsUsed(Conflict):
    """The facilitator was asked as often as it may be for one order."""

    code = "x402_calls_used"
    detail = "Too many payments of this order were refused. Pay it by a transfer, or order again."


class PaymentSent(Conflict):
    """The order has its payment, or a signed transfer of it is on its way."""

    code = "payment_sent"
    detail = "This order is paid, or a payment of it is on its way. Do not sign again."


class TransferOutdated(Conflict):
    """What was signed is not what the order asks for now, or its time is over."""

    code = "transfer_outdated"
    detail = "What you signed is not what is due now, or its time is over. Read again what to sign."


class TransferRefused(Conflict):
    """The facilitator did not submit the transfer, and the chain does not have it."""

    code = "transfer_refused"
    detail = "The facilitator refused the transfer. Nothing was paid: you can sign again."


class OrderEnded(Gone):
    """The order that an x402 payment is for has expired or was canceled."""

    code = "order_ended"
    detail = "This order has ended. Send the request without PAYMENT-SIGNATURE for a new one."

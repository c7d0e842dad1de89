"""What an organizer's wallet contradicts, when refunds are paid back from a console page."""

from enum import StrEnum


class RefundReport(StrEnum):
    """How the network differs from the books, as seen by the page "Pay back what I owe".

    `paid_by_another`: an account paid a refund that another account was asked to pay.
    `other_content`: for the wallet's node, a buyer's payment is different or not there.
    `id_used`: the id of a refund is used already.
    """

    PAID_BY_ANOTHER = "paid_by_another"
    OTHER_CONTENT = "other_content"
    ID_USED = "id_used"

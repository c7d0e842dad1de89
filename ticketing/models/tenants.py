"""Tenants: the accounts of organizers."""

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing import locales
from ticketing.constants import DEFAULT_TOLERANCE_MOST, MICRO_UNIT_DECIMALS
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.wallets import Wallet
from ticketing.notification_types import SaleMails


class Tenant(BaseModel):
    """An organizer's account. `revision` counts the changes of its public data.

    The settings from `contact_email` to `accent_color` are for pages, and `tax_id` for receipts.
    None: not shown. Answers to mails go to `contact_email`. `logo_digest`: the logo, of the table
    `images`. `early_confirmation`: small orders of events that are not soon are confirmed before
    their payment is final. `locale`: the language of pages and mails, if nothing else says it.
    `listed`: programs that know no organizer may find its events.
    `second_factor_required`: administrators need a second factor. `sale_mails`: whether
    administrators get mails about sales. `sales_told_at`: when those of the last day were planned.

    Of a payment, `payment_tolerance_percent` of the amount may be missing, and at most
    `payment_tolerance_most` micro-units: see `tolerance_of`.
    """

    id = TextField(primary_key=True)
    slug = TextField(unique=True)
    name = TextField()
    wallet = ForeignKeyField(Wallet, null=True)
    wallet_id: str | None
    revision = BigIntegerField(default=0)
    contact_email = TextField(null=True)
    website = TextField(null=True)
    terms_url = TextField(null=True)
    privacy_url = TextField(null=True)
    legal_address = TextField(null=True)
    tax_id = TextField(null=True)
    accent_color = TextField(null=True)
    locale = TextField(default=locales.DEFAULT)
    listed = BooleanField(default=False)
    second_factor_required = BooleanField(default=False)
    sale_mails = TextField(default=SaleMails.NONE)
    sales_told_at = UtcDateTimeField(null=True)
    logo_digest = TextField(null=True)
    early_confirmation = BooleanField(default=False)
    payment_tolerance_percent = IntegerField(default=0)
    payment_tolerance_most = BigIntegerField(default=DEFAULT_TOLERANCE_MOST)
    created_at = UtcDateTimeField()

    # No column: services.images sets it for responses.
    logo_url: str | None

    class Meta:
        table_name = "tenants"

    def tolerance_of(self, amount: int, token_decimals: int) -> int:
        """Return how much may be missing of the payment of a new order, in micro-units.

        It is a whole number of the token's atomic units.

        Example: 5 % of an order of 25 USDC are 1.25 USDC. Of one of 100, only 1.50 may be missing,
        if that is the most. Of 25.50 in a token of 2 decimals, 1.27 may be missing, not 1.275.
        """
        part = amount * self.payment_tolerance_percent // 100
        atom: int = 10 ** max(0, MICRO_UNIT_DECIMALS - token_decimals)
        return int(min(part, self.payment_tolerance_most)) // atom * atom

"""A story for each kind of mail: rows with which the mail has something to say.

Each story yields what is special, the id of the mail's subject, and further columns of the mail.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support import questions, webhook_receivers
from tests.support.admissions import FREE, admissions_of, change, given, invite
from tests.support.books import home_of
from tests.support.carts import buyer_of, shop_of_two
from tests.support.factories import Buyer, Organizer
from tests.support.mails import ADA, START, change_intent, confirmed, tell
from tests.support.members import accept
from tests.support.members import invite as invite_member
from tests.support.refunds import FRIEND_ADDRESS, STRANGER_ADDRESS, received
from ticketing import ids
from ticketing.constants import RESOLD_REASON, PayeeSource
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.events import Event
from ticketing.models.members import Member
from ticketing.models.messages import Message
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.order_emails import EmailPlace, OrderEmail
from ticketing.models.order_networks import OrderNetwork
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from ticketing.models.tenants import Tenant
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.notification_types import MailKind
from ticketing.services.orders import accounts
from ticketing.waiting_list import EntryStatus
from tools.anvil import SECOND_CHAIN_ID, TOKEN_ADDRESS

NOW = datetime(2031, 5, 4, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)
SALT = "ab" * 16
PAID, PART = 10_000_000, 4_000_000
NEW_EMAIL, BOSS, BOB = "new@example.org", "boss@example.org", "bob@example.org"

About = Iterator[tuple[str, str, dict[str, Any]]]


@dataclass
class Shop:
    """An organizer with a ticket type that costs 5.00 USDC."""

    acme: Organizer
    ticket: dict[str, Any]

    def unpaid(self, received_amount: int = 0) -> Buyer:
        """An order of two tickets for which a part has arrived, or nothing."""
        buyer = self.acme.buyer(self.ticket, quantity=2, buyer=ADA)
        if received_amount:
            received(buyer, received_amount)
        return buyer

    def paid(self, more: int = 0) -> Buyer:
        """An order of two tickets that is confirmed, with more money than it costs."""
        buyer = confirmed(self.acme, self.ticket, quantity=2)
        change_intent(buyer, confirmed_at=NOW - DAY)
        received(buyer, PAID + more)
        return buyer

    def owed(self, amount: int = PART) -> Buyer:
        """A confirmed order that owes its buyer something."""
        buyer = self.paid(amount)
        change_intent(buyer, due=amount)
        return buyer

    def guest(self) -> Admission:
        """The ticket of a guest."""
        assert invite(self.acme, self.ticket, {"email": BOB}).status_code == 201
        return Admission.get(Admission.intent.is_null())

    def member(self) -> Member:
        """An administrator with a password."""
        accept(self.acme, invite_member(self.acme, BOSS, "admin")["invitation_url"])
        Member.update(password_set_at=NOW).where(Member.email == BOSS).execute()
        return Member.get(Member.email == BOSS)

    def entry(self, **columns: Any) -> WaitingListEntry:
        """A place on the waiting list."""
        shown = {"quantity": 2, "email": ADA["email"], "mailbox": ADA["email"], "status": "waiting"}
        return WaitingListEntry.create(
            id=ids.new(ids.WAITING_LIST_ENTRY),
            tenant=self.acme.id,
            event=self.ticket["event_id"],
            ticket_type=self.ticket["id"],
            created_at=NOW,
            **{**shown, **columns},
        )

    def message(self) -> Message:
        """A message to the people of the event that is being sent."""
        return Message.create(
            id=ids.new(ids.MESSAGE),
            tenant=self.acme.id,
            event=self.ticket["event_id"],
            subject="Doors at eight",
            text="Please come at eight.\n\nhttps://example.org/map",
            audience="holders",
            send_at=NOW,
            status="sending",
            recipients=3,
            created_by="cli",
            created_at=NOW,
        )

    def told(self, type: str, data: dict[str, Any]) -> dict[str, Any]:
        """The columns of a mail that follows from this notification."""
        (notification_id,) = tell(self.acme.id, (type, data))
        return {"notification_id": notification_id}


def stray(buyer: Buyer, **columns: Any) -> OrderAccount:
    """What has arrived for an order on the second local network."""
    intent = PaymentIntent.get_by_id(buyer.intent["id"])
    network = OrderNetwork(SECOND_CHAIN_ID, TOKEN_ADDRESS, "USDC", 6, 1)
    books = {"received": PART, "final": PART, **columns}
    account = accounts.new(intent, network, is_option=True, in_reach=True, **books)
    accounts.store(account)
    return account


def payee(buyer: Buyer, address: str = FRIEND_ADDRESS, **columns: Any) -> RefundAddress:
    """Where the refund of an order goes, or will go."""
    made = RefundAddress.create(
        id=ids.new(ids.REFUND_ADDRESS),
        intent=buyer.intent["id"],
        account=home_of(buyer.intent["id"]),
        address=address,
        **{"stated_at": NOW, **columns},
    )
    known = {} if columns.get("waits") else {"refund_address": address}
    change_intent(buyer, payees_version=PaymentIntent.payees_version + 1, **known)
    return made


PLANNED = {"notification_id": "ntf_" + "0" * 26}
"""The columns of a mail that nobody asked for."""


def order_placed(shop: Shop) -> About:
    yield "nothing paid", shop.unpaid().intent["id"], PLANNED
    yield "asked for, a part paid", shop.unpaid(PART).intent["id"], {}
    seen = shop.unpaid(PAID)
    change_intent(seen, status="processing")
    yield "asked for, paid", seen.intent["id"], {}


def part_arrived(shop: Shop) -> About:
    yield "at home", shop.unpaid(PART).intent["id"], PLANNED
    elsewhere = shop.unpaid()
    stray(elsewhere, open=PART)
    change_intent(elsewhere, books_version=1)
    yield "on another network", elsewhere.intent["id"], PLANNED


def order_confirmed(shop: Shop) -> About:
    yield "paid", shop.paid().intent["id"], PLANNED
    adult, shirt = shop_of_two(shop.acme, **FREE)
    Event.update(start_at=START).execute()
    free = buyer_of(shop.acme, (adult, 2), (shirt, 1), buyer=ADA)
    assert free.purchase().status_code == 200
    yield "free, two ticket types", free.intent["id"], PLANNED


def ticket(shop: Shop) -> About:
    guest = shop.guest()
    yield "of a guest", guest.id, {"generation": 1, **PLANNED}
    yield "with a new code", guest.id, {"generation": 1}


def ticket_again(shop: Shop) -> About:
    yield "of a guest", shop.guest().id, {"generation": 1}


def transfer_offered(shop: Shop) -> About:
    offer = Transfer.create(
        id=ids.new(ids.TRANSFER),
        admission=admissions_of(shop.paid())[0],
        generation=1,
        holder_email=BOB,
        created_at=NOW,
        expires_at=NOW + 2 * DAY,
    )
    yield "to Bob", offer.id, PLANNED


def email_changed(shop: Shop) -> About:
    """To the address at the first payment, and to one that nobody has proven."""
    buyer = shop.paid()
    present = {"set_by": "buyer", "at": NOW, "counts_from": NOW + DAY, "salt": SALT}
    first = {"set_by": "buyer", "at": NOW - DAY, "counts_from": NOW - DAY, "salt": SALT}
    for place, email, columns in (
        (EmailPlace.FIRST, ADA["email"], first),
        (EmailPlace.PRESENT, NEW_EMAIL, present),
    ):
        OrderEmail.create(intent=buyer.intent["id"], place=place, email=email, **columns)
    change_intent(buyer, buyer_email=NEW_EMAIL)
    yield "to a mailbox of the buyer", buyer.intent["id"], {"recipient": ADA["email"]}
    yield "to another address", buyer.intent["id"], {"recipient": BOB}


def refund_due(shop: Shop) -> About:
    yield "to no address yet", shop.owed().intent["id"], PLANNED
    for source in (PayeeSource.SIGNER, PayeeSource.ENTERED):
        known = shop.owed()
        payee(known, source=source, effective_at=NOW)
        yield f"to an address: {source}", known.intent["id"], PLANNED
    for until in (NOW + DAY, None):
        waits = shop.owed()
        payee(waits, waits=True, effective_at=until, confirm_salt=SALT)
        yield f"to an address that waits: until {until}", waits.intent["id"], PLANNED
    for reason in (RESOLD_REASON, None):
        released = shop.owed()
        change(admissions_of(released)[0], released=5_000_000, void_reason=reason)
        yield f"because of the reason {reason}", released.intent["id"], PLANNED
    elsewhere = shop.paid()
    account = stray(elsewhere, due=PART)
    change_intent(elsewhere, books_version=1)
    where = {"chain_id": account.chain_id, "token_address": account.token_address}
    data = {"intent_id": elsewhere.intent["id"], **where}
    yield "on another network", elsewhere.intent["id"], shop.told("refund.due", data)


def refund_address_changed(shop: Shop) -> About:
    recipient = {"recipient": ADA["email"]}
    first = shop.owed()
    waits = payee(first, waits=True, effective_at=NOW + DAY, confirm_salt=SALT)
    yield "waits, the first one", waits.id, recipient
    second = shop.owed()
    payee(second, STRANGER_ADDRESS, effective_at=NOW - DAY)
    waits = payee(second, waits=True, effective_at=None, confirm_salt=SALT)
    yield "waits for the button, instead of another one", waits.id, recipient
    third = shop.owed()
    payee(third, STRANGER_ADDRESS, effective_at=NOW - DAY, replaced_at=NOW)
    counts = payee(third, effective_at=NOW, confirm_salt=SALT)
    yield "counts, instead of another one", counts.id, recipient


def refund_address_news(shop: Shop) -> About:
    waits = payee(shop.owed(), waits=True, effective_at=NOW + DAY, confirm_salt=SALT)
    yield "waits", waits.id, {"recipient": BOB}


def refund_address_entered(shop: Shop) -> About:
    entered = payee(shop.owed(), source=PayeeSource.ENTERED, effective_at=NOW)
    yield "to the buyer", entered.id, {"recipient": ADA["email"]}
    yield "to another address", entered.id, {"recipient": BOB}


def refunds_cautioned(shop: Shop) -> About:
    for _ in range(2):
        entered = {"source": PayeeSource.ENTERED, "effective_at": NOW - 4 * DAY}
        payee(shop.owed(), stated_at=NOW - 4 * DAY, decided_by="cli", cautions="entered", **entered)
    yield "two", shop.member().id, {}


def refund_settled(shop: Shop) -> About:
    intent_id = shop.paid().intent["id"]
    sent = {"amount": PART, "tx_hash": "0x" + "ab" * 32, "currency": "USDC", "chain_id": 8453}
    yield "on Base", intent_id, shop.told("refund.settled", {"intent_id": intent_id, **sent})


def event_canceled(shop: Shop) -> About:
    first, second, guest = shop.owed(), shop.owed(PAID), shop.guest()
    payee(second, source=PayeeSource.STATED, effective_at=NOW)
    stray(second, due=PART)
    change_intent(second, books_version=1)
    Event.update(status="canceled").execute()
    yield "two orders with money on two networks", first.intent["id"], PLANNED
    yield "a guest", guest.id, PLANNED


def event_moved(shop: Shop) -> About:
    yield "an order", shop.paid().intent["id"], PLANNED
    yield "a guest", shop.guest().id, PLANNED


def answers_missing(shop: Shop) -> About:
    questions.ask(shop.acme, shop.ticket["event_id"], ask="attendee", required=True)
    yield "an order", shop.paid().intent["id"], {}
    yield "a guest", shop.guest().id, {"generation": 1}


def reminder(shop: Shop) -> About:
    yield "an order", shop.paid().intent["id"], {}
    yield "a guest", shop.guest().id, {"generation": 1}


def message(shop: Shop) -> About:
    buyer, guest = shop.paid(), shop.guest()
    columns = {"message_id": shop.message().id}
    yield "an order", buyer.intent["id"], columns
    yield "a guest", guest.id, columns


def message_to_member(shop: Shop) -> About:
    yield "of the command line", shop.member().id, {"message_id": shop.message().id}


def sale(shop: Shop) -> About:
    data = {"intent_id": shop.paid().intent["id"]}
    yield "of two tickets", shop.member().id, shop.told("intent.confirmed", data)


def sales_of_day(shop: Shop) -> About:
    for _ in range(2):
        shop.paid()
    yield "of four tickets", shop.member().id, {}


def lost_links(shop: Shop) -> About:
    shop.paid()
    shop.unpaid()
    shop.unpaid(PART)
    given(
        shop.acme, shop.acme.ticket(shop.acme.event(start_at=START.isoformat()), **FREE), buyer=ADA
    )
    yield "of four orders", shop.acme.id, {"recipient": ADA["email"]}


def waiting_list_joined(shop: Shop) -> About:
    yield "not confirmed", shop.entry(status=EntryStatus.UNCONFIRMED).id, {}
    other = shop.entry(email=BOB, mailbox=BOB, status=EntryStatus.WAITING, confirmed_at=NOW)
    yield "confirmed", other.id, {}


def waiting_list_offer(shop: Shop) -> About:
    buyer = shop.unpaid()
    change_intent(buyer, expires_at=NOW + DAY)
    entry = shop.entry(status=EntryStatus.OFFERED, intent=buyer.intent["id"], offered_at=NOW)
    yield "of two tickets", entry.id, {}


def waiting_list_ended(shop: Shop) -> About:
    yield "nothing became free", shop.entry(status=EntryStatus.EXPIRED).id, {}
    yield "canceled", shop.entry(status=EntryStatus.CANCELED, email=BOB, mailbox=BOB).id, {}


def member_invited(shop: Shop) -> About:
    yield "to read", invite_member(shop.acme, BOSS)["id"], {}


def password(shop: Shop) -> About:
    yield "of an administrator", shop.member().id, {"recipient": BOSS}


def webhook_failing(shop: Shop) -> About:
    keyring, member = shop.acme.app.extensions["ticketing"].keyring, shop.member()
    for disabled_at in (None, NOW):
        endpoint = webhook_receivers.endpoint(
            shop.acme.id,
            keyring,
            url="https://hooks.example.net/secret-path",
            failing_since=NOW - DAY,
            disabled_at=disabled_at,
        )
        data = {"webhook_id": endpoint.id}
        yield f"disabled: {bool(disabled_at)}", member.id, shop.told("webhook.failing", data)


def wallet(shop: Shop) -> About:
    member = shop.member()
    said = {
        "address": FRIEND_ADDRESS,
        "former_address": STRANGER_ADDRESS,
        "chain_ids": [8453, 10],
        "effective_at": "2031-05-05T12:30:00Z",
        "by": "cli",
    }
    yield "address", member.id, shop.told("wallet.changed", said)


STORIES: Mapping[MailKind, Any] = {
    MailKind.ORDER_PLACED: order_placed,
    MailKind.PART_ARRIVED: part_arrived,
    MailKind.ORDER_CONFIRMED: order_confirmed,
    MailKind.TICKET: ticket,
    MailKind.TICKET_AGAIN: ticket_again,
    MailKind.TRANSFER_OFFERED: transfer_offered,
    MailKind.EMAIL_CHANGED: email_changed,
    MailKind.EMAIL_CHANGED_BY_ORGANIZER: email_changed,
    MailKind.ORDER_LINK_ENDED: email_changed,
    MailKind.REFUND_DUE: refund_due,
    MailKind.REFUND_ADDRESS_CHANGED: refund_address_changed,
    MailKind.REFUND_ADDRESS_NEWS: refund_address_news,
    MailKind.REFUND_ADDRESS_ENTERED: refund_address_entered,
    MailKind.REFUNDS_CAUTIONED: refunds_cautioned,
    MailKind.REFUND_SETTLED: refund_settled,
    MailKind.EVENT_CANCELED: event_canceled,
    MailKind.EVENT_MOVED: event_moved,
    MailKind.ANSWERS_MISSING: answers_missing,
    MailKind.REMINDER: reminder,
    MailKind.MESSAGE: message,
    MailKind.MESSAGE_PREVIEW: message_to_member,
    MailKind.MESSAGE_WRITTEN: message_to_member,
    MailKind.SALE: sale,
    MailKind.SALES_OF_DAY: sales_of_day,
    MailKind.LOST_LINKS: lost_links,
    MailKind.WAITING_LIST_JOINED: waiting_list_joined,
    MailKind.WAITING_LIST_OFFER: waiting_list_offer,
    MailKind.WAITING_LIST_REMINDER: waiting_list_offer,
    MailKind.WAITING_LIST_ENDED: waiting_list_ended,
    MailKind.MEMBER_INVITED: member_invited,
    MailKind.PASSWORD_RESET: password,
    MailKind.PASSWORD_CHANGED: password,
    MailKind.WEBHOOK_FAILING: webhook_failing,
    MailKind.WALLET_CHANGE_REQUESTED: wallet,
    MailKind.WALLET_CHANGED: wallet,
    MailKind.WALLET_CHANGE_CANCELED: wallet,
}


def speak(locale: str) -> None:
    """Let each order, place, event and organizer have this language."""
    with write_transaction():
        for model in (PaymentIntent, WaitingListEntry, Event, Tenant):
            model.update(locale=locale).execute()

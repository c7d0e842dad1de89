"""Payment intents: find and list them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from peewee import JOIN, ModelSelect, fn

from ticketing import ids
from ticketing.chain import eip681, registry, units
from ticketing.chain.registry import REGISTRY
from ticketing.constants import MAX_PAYMENTS_SHOWN, Flag, IntentStatus
from ticketing.errors import NotFound
from ticketing.models.chains import ChainState
from ticketing.models.events import Event, only_event
from ticketing.models.order_accounts import OrderAccount, PaymentTerms
from ticketing.models.order_networks import OrderNetwork, PaymentOption
from ticketing.models.payment_intents import (
    AWAITING,
    FLAGGED,
    IS_HOME,
    UNSETTLED,
    PaymentIntent,
    flag_bits,
)
from ticketing.models.payments import Payment
from ticketing.models.prepared import Prepared
from ticketing.models.refunds import Refund
from ticketing.models.tenants import Tenant
from ticketing.services import chains
from ticketing.services.orders import accounts, admissions, answers, items, payees_shown
from ticketing.services.pagination import Page, PageRequest, paginate


def _in_tenant(tenant: Any, intent_id: Any) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select(PaymentIntent, Event, OrderAccount)
        .join_from(PaymentIntent, Event)
        .join_from(PaymentIntent, Tenant)
        .join_from(PaymentIntent, OrderAccount, JOIN.LEFT_OUTER)
        .where(PaymentIntent.id == intent_id, (Tenant.id == tenant) | (Tenant.slug == tenant))
    )


def _in_any_tenant(intent_id: Any) -> ModelSelect[PaymentIntent]:
    return (
        PaymentIntent.select(PaymentIntent, Event, Tenant, OrderAccount)
        .join_from(PaymentIntent, Event)
        .join_from(PaymentIntent, Tenant)
        .join_from(PaymentIntent, OrderAccount, JOIN.LEFT_OUTER)
        .where(PaymentIntent.id == intent_id)
    )


# With its accounts, a row for each: nearly every order has one, and is asked for it.
_of_tenant: Prepared[PaymentIntent] = Prepared(_in_tenant, last="read_account")
_of_any_tenant: Prepared[PaymentIntent] = Prepared(_in_any_tenant, last="read_account")


@Prepared
def _largest_of(intent_id: Any) -> ModelSelect[Payment]:
    # As in the index payments_of_intent, so the other rows are not read.
    order = (Payment.canonical.desc(), Payment.amount.desc(), Payment.dust.desc())
    query = Payment.select().where(Payment.intent == intent_id)
    return query.order_by(*order).limit(MAX_PAYMENTS_SHOWN)


def list_page(
    tenant_id: str,
    page: PageRequest,
    *,
    status: IntentStatus | None,
    event_id: str | None,
    flag: Flag | None,
    event_ids: Collection[str] | None = None,
    newest_first: bool = False,
) -> Page[PaymentIntent]:
    """Return a page of a tenant's intents, the oldest first unless `newest_first`.

    `event_ids`: only those of these events.
    """
    if event_id is not None:
        # An event's intents belong to its tenant. With the tenant in the condition too, the
        # database might search all intents of the tenant.
        query = PaymentIntent.select().where(PaymentIntent.event == only_event(tenant_id, event_id))
    elif flag is not None:
        query = few_of_tenant(tenant_id)
    else:
        query = PaymentIntent.select().where(PaymentIntent.tenant == tenant_id)
    if event_ids is not None:
        query = query.where(PaymentIntent.event.in_(list(event_ids)))
    if status is not None:
        query = query.where(PaymentIntent.status == status)
    if flag is not None:
        query = query.where(FLAGGED, PaymentIntent.flags.bin_and(flag_bits([flag])) != 0)
    scope = f"intents {tenant_id} {status} {event_id} {flag}"
    intent_page = paginate(query, [PaymentIntent.id], page, scope=scope, descending=newest_first)
    add_payment_details(intent_page.data)
    return intent_page


def few_of_tenant(tenant_id: str) -> ModelSelect[PaymentIntent]:
    """Select the intents of a tenant, for a further condition that few of them meet.

    The partial indexes for such conditions contain this expression. The indexes on all intents do
    not, so the database cannot choose them.
    """
    return PaymentIntent.select().where(fn.LOWER(PaymentIntent.tenant) == tenant_id)


def get(tenant_reference: str, intent_id: str) -> PaymentIntent:
    """Return one intent of the tenant with this slug or id, with its event. NotFound."""
    return _only(_of_tenant.rows(tenant=tenant_reference, intent_id=intent_id))


def event_of(tenant_id: str, intent_id: str) -> str | None:
    """Return the id of the event of a tenant's intent. None if there is no such intent."""
    if not ids.is_id(ids.INTENT, intent_id):
        return None  # Postgres refuses some texts in a parameter
    intent = _of_tenant.first(tenant=tenant_id, intent_id=intent_id)
    return None if intent is None else str(intent.event_id)


def find(intent_id: str) -> PaymentIntent:
    """Return an intent of any tenant, for a caller whose secret was compared before. NotFound.

    It has its event and tenant.
    """
    return _only(_of_any_tenant.rows(intent_id=intent_id))


def _only(rows: Sequence[PaymentIntent]) -> PaymentIntent:
    """Return the intent of rows that have one of its accounts each. NotFound: there is no row."""
    if not rows:
        raise NotFound("This intent does not exist.")
    intent, found = rows[0], [row.read_account for row in rows]
    accounts.keep(intent, [account for account in found if account is not None])
    return intent


def get_by_link(tenant_reference: str, intent_id: str, generation: int) -> PaymentIntent:
    """Return one intent of a tenant, for a secret of this generation. NotFound."""
    intent = get(tenant_reference, intent_id)
    check_link(intent.link_generation, generation)
    return intent


def find_by_link(intent_id: str, generation: int) -> PaymentIntent:
    """Return an intent of any tenant, for a secret of this generation. NotFound.

    It has its event and tenant.
    """
    intent = find(intent_id)
    check_link(intent.link_generation, generation)
    return intent


def check_link(current: int, generation: int) -> None:
    """Check that a secret is of the current generation of an order's links. NotFound."""
    if generation != current:
        raise NotFound(
            "This link has ended. The organizer sent a new one to the email address of the order."
        )


def keep_items(found: PaymentIntent, now: PaymentIntent) -> None:
    """Set the items of an intent that were read before: they never change."""
    items.read([found])
    now.items, now.item_names = found.items, found.item_names


def read(tenant_reference: str, intent_id: str) -> PaymentIntent:
    """Return one intent with its payment details. NotFound."""
    intent = get(tenant_reference, intent_id)
    add_payment_details([intent])
    return intent


def read_all(tenant_id: str, intent_id: str) -> PaymentIntent:
    """Return one intent with payment details, largest payments, admissions and answers.

    NotFound.
    """
    intent = read(tenant_id, intent_id)
    intent.payments = largest_payments_of(intent)
    intent.payment_count = count_payments(intent, intent.payments)
    intent.admissions = admissions.of_intent(intent)
    answers.add_to_order(intent)
    return intent


def oldest(chain_id: int) -> PaymentIntent | None:
    """Return the oldest intent on a chain, None if there is none."""
    # Search the intents in three parts, because each part has an index by chain. Ordered by id
    # only, the search might read the intents of all chains.
    of_chain = PaymentIntent.select().where(PaymentIntent.chain_id == chain_id)
    ended = PaymentIntent.select().join(OrderAccount, on=IS_HOME)
    ended = ended.where(OrderAccount.chain_id == chain_id, OrderAccount.watch_until.is_null(False))
    parts = of_chain.where(AWAITING), of_chain.where(UNSETTLED), ended
    firsts = [part.order_by(PaymentIntent.created_at).first() for part in parts]
    candidates = [intent for intent in firsts if intent is not None]
    return min(candidates, key=lambda intent: str(intent.id), default=None)


def page_of_payments(tenant_id: str, intent_id: str, page: PageRequest) -> Page[Payment]:
    """Return a page of the transfers to an intent on all chains, by their blocks. NotFound.

    Each says on which chain, and in which token.
    """
    intent = get(tenant_id, intent_id)
    query = Payment.select().where(Payment.intent == intent)
    # During a reorganization, two transfers can have the same place.
    order: list[Any] = [Payment.block_number, Payment.log_index, Payment.id]
    found: Page[Payment] = paginate(query, order, page, scope=f"payments {intent_id}")
    _add_tokens(intent, found.data)
    return found


def largest_payments_of(intent: PaymentIntent) -> Sequence[Payment]:
    """Return the largest MAX_PAYMENTS_SHOWN transfers to an intent on all chains, by their blocks.

    Those that a reorganization removed come last in size. So the payments of the buyer are not
    hidden by thousands of tiny ones of a stranger.
    """
    found: list[Payment] = _largest_of.rows(intent_id=intent.id)
    _add_tokens(intent, found)
    return sorted(found, key=lambda each: (each.block_number, each.log_index))


def _add_tokens(intent: PaymentIntent, found: Sequence[Payment]) -> None:
    """Set the token of each payment: the one of its account."""
    tokens = {account.id: account.token_address for account in intent.accounts}
    for payment in found:
        payment.token_address = tokens[payment.account_id]


def count_payments(intent: PaymentIntent, shown: Sequence[Payment]) -> int:
    """Return how many transfers to an intent there are, canonical or not.

    `shown` are the largest. Only if more are possible, the database counts.
    """
    if len(shown) < MAX_PAYMENTS_SHOWN:
        return len(shown)
    return int(Payment.select().where(Payment.intent == intent).count())


def add_payment_details(intents: Sequence[PaymentIntent]) -> None:
    """Set the items, payment details, confirmations and refunds of each intent."""
    items.read(intents)
    items.read_vouchers(intents)
    asks_chains = any(intent.paid_block is not None or intent.networks for intent in intents)
    states = chains.states() if asks_chains else {}
    unread = [intent for intent in intents if "accounts" not in vars(intent)]
    accounts.read(unread)
    payees = payees_shown.of(intents)
    refunds = _refunds_of([each for each in intents if _was_refunded(each)])
    for intent in intents:
        intent.atomic_amount = intent.payment_uri = None
        intent.payment_options = ()
        intent.confirmations = 0
        for account in intent.accounts:
            account.refunds = refunds[account.id]
            account.payee = payees.get(account.id, payees_shown.NONE)
        intent.strays = [each for each in intent.stray_accounts if each.received]
        intent.refunds, intent.payee = (), payees_shown.NONE
        if intent.chain_id is not None:
            home = intent.home
            intent.refunds, intent.payee = home.refunds, home.payee
            _add_payment_details(intent, states)


def _was_refunded(intent: PaymentIntent) -> bool:
    """Return whether an order may have refunds: those of strays are always looked for."""
    return any(account.refunded or not account.is_home for account in intent.accounts)


def _refunds_of(intents: Sequence[PaymentIntent]) -> Mapping[int, Sequence[Refund]]:
    """Return the refunds that were paid for each account, by its id, the oldest first."""
    refunds: dict[int, list[Refund]] = defaultdict(list)
    if intents:
        of_orders = Refund.intent.in_([each.id for each in intents])
        for refund in Refund.select().where(of_orders, Refund.canonical).order_by(Refund.id):
            refunds[refund.account_id].append(refund)
    return refunds


def _add_payment_details(
    intent: PaymentIntent,
    states: Mapping[int, ChainState],
) -> None:
    terms = intent.terms
    intent.atomic_amount = units.to_atomic(intent.amount, terms.decimals)
    of_chain = {each.chain_id: each for each in intent.stray_accounts if each.is_option}
    intent.payment_options = [
        _option(intent, each, _due_on(intent, each, states, of_chain.get(each.chain_id)))
        for each in intent.networks or (_home(terms),)
    ]
    intent.payment_uri = next(
        each.payment_uri for each in intent.payment_options if each.chain_id == terms.chain_id
    )
    if intent.paid_block is not None:
        state = states.get(terms.chain_id)
        head = None if state is None else state.block_number
        intent.confirmations = max(0, (head or 0) - intent.paid_block + 1)
    if intent.status == IntentStatus.CONFIRMED:
        # A purchase may have read newer blocks than the worker.
        least = intent.home.early_confirmations if intent.early else terms.required_confirmations
        intent.confirmations = max(intent.confirmations, least or 0)


def _home(terms: PaymentTerms) -> OrderNetwork:
    known = REGISTRY.get(terms.chain_id)
    symbol = None if known is None else known.symbol
    return OrderNetwork(
        terms.chain_id, terms.token_address, symbol, terms.decimals, terms.required_confirmations
    )


def _option(intent: PaymentIntent, network: OrderNetwork, due: int | None) -> PaymentOption:
    """Return how an intent can be paid on a network. `due`: None if it cannot be now."""
    uri = None
    if due is not None:
        address = str(intent.address)
        uri = eip681.payment_uri(network.chain_id, network.token_address, address, due)
    return PaymentOption(
        chain_id=network.chain_id,
        token_address=network.token_address,
        symbol=network.symbol,
        decimals=network.decimals,
        required_confirmations=network.required_confirmations,
        name=registry.name_of(network.chain_id),
        atomic_amount=units.to_atomic(intent.amount, network.decimals),
        atomic_due=due,
        payment_uri=uri,
    )


def _due_on(
    intent: PaymentIntent,
    network: OrderNetwork,
    states: Mapping[int, ChainState],
    account: OrderAccount | None,
) -> int | None:
    """Return what is missing on a network, in atomic units. None: do not pay there now.

    Example: an order of 25 received 20 on its home, Base, and 24 on Polygon. On Base 5 are missing,
    on Polygon 1. Who pays this 1 has paid: the 20 are owed then.
    """
    missing = intent.amount_due
    if network.chain_id == intent.chain_id or not missing:
        return units.to_atomic(missing, network.decimals) if missing else None
    state = states.get(network.chain_id)
    if state is None or not chains.is_fresh(state):
        return None
    if account is not None and account.asked_back:
        return None
    missing = intent.amount - (0 if account is None else account.counted)
    # It is paid there already: the order moves there with the next look.
    return units.to_atomic(missing, network.decimals) if missing > 0 else None

"""Entries of the audit log in words: what was done, to what, and each field before and after."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ticketing import formats, ids
from ticketing.constants import CURRENCY
from ticketing.models.audit_log import AuditLogEntry

ACTIONS = {
    "admissions_add_guests": "Guest added",
    "admissions_reissue_admission": "New code for a ticket",
    "admissions_void_admission": "Ticket taken back",
    "api_keys_create_api_key": "API key created",
    "admissions_undo_entry": "Entry of a ticket undone",
    "api_keys_revoke_api_key": "API key revoked",
    "api_keys_rotate_api_key": "New secret of an API key",
    "door_devices_create_door_device": "Device for the door added",
    "door_devices_revoke_door_device": "Device for the door revoked",
    "erasure_erase_admission": "Holder erased",
    "erasure_erase_intent": "Buyer and holders erased",
    "events_change_event": "Event changed",
    "events_copy_event": "Event copied",
    "events_create_event": "Event created",
    "events_set_event_status": "Event published or canceled",
    "images_delete_event_image": "Picture of an event removed",
    "images_delete_logo": "Logo removed",
    "images_put_event_image": "Picture of an event set",
    "images_put_logo": "Logo set",
    "admissions_send_admission": "Ticket sent again",
    "intents_send_intent_to_email": "Mail of an order sent again",
    "messages_cancel_message": "Message canceled",
    "messages_create_message": "Message written",
    "series_change_series": "Series changed",
    "members_change_member": "Role of a person changed",
    "members_disable_member": "Person disabled",
    "members_invite_member": "Person invited",
    "members_invite_member_again": "Person invited again",
    "admissions_change_answers": "Answers of a ticket changed",
    "questions_archive_question": "Question archived",
    "questions_change_question": "Question changed",
    "questions_create_question": "Question created",
    "refunds_enter_payee": "Address for a refund entered for the buyer",
    "refunds_mark_refund": "Refund marked as paid by hand, or not",
    "refunds_settle_refund": "Refund counted",
    "refunds_settle_refunds": "Refund counted with others of a transaction",
    "payouts_create_payout": "Refunds listed to be paid",
    "passed_ids_pass_over_id": "Payment noted as something else than a refund",
    "refunds_waive_refund": "Refund not counted any more",
    "refunds_waive_refunds": "Refund not counted any more, with other small ones",
    "tenants_change_tenant": "Settings changed",
    "ticket_types_change_ticket_type": "Ticket type changed",
    "ticket_types_create_ticket_type": "Ticket type created",
    "ticket_types_set_ticket_type_status": "Ticket type published or canceled",
    "sessions_begin": "Signed in",
    "second_factors_app_added": "App for codes added",
    "second_factors_app_removed": "App for codes removed",
    "second_factors_codes_made": "New recovery codes",
    "second_factors_passkey_added": "Passkey added",
    "second_factors_passkey_removed": "Passkey removed",
    "connected_apps_connect": "App connected",
    "connected_apps_end": "App ended",
    "passwords_change": "Password changed",
    "passwords_reset": "New password by a mailed link",
    "tokens_accept_invitation": "Invitation accepted",
    "vouchers_change_voucher": "Voucher changed",
    "waiting_list_offer_out_of_turn": "Offered to somebody who waits",
    "waiting_list_cancel_entry": "Place on the waiting list ended",
    "crowds_put_crowds": "Crowds changed",
    "client_networks_cancel": "Unpaid orders and places of a network canceled",
    "deposits_release_deposits": "Deposits released",
    "vouchers_create_voucher": "Voucher created",
    "vouchers_create_vouchers": "Vouchers created",
    "vouchers_disable_voucher": "Voucher disabled",
    "wallets_cancel_wallet_change": "Change of the wallet canceled",
    "wallets_note_wallet_credited": "First money moved, and can be spent",
    "wallets_set_wallet": "Wallet set",
    "webhooks_change_webhook": "Webhook changed",
    "webhooks_create_webhook": "Webhook created",
    "webhooks_delete_webhook": "Webhook deleted",
    "webhooks_enable_webhook": "Webhook enabled",
    "webhooks_resend_to_webhook": "Notifications sent again",
    "webhooks_rotate_webhook": "New secret of a webhook",
    "webhooks_test_webhook": "Webhook tested",
}
"""What was done, by the operation of the API. Pages name the one that does the same."""

COMMANDS = {
    "db restored": "Addresses passed over after a restore",
    "keys create": "API key created",
    "keys revoke": "API key revoked",
    "keys revoke-all": "All API keys revoked",
    "keys rotate": "New secret of an API key",
    "members add": "Person added",
    "members disable": "Person disabled",
    "members invite": "Person invited",
    "members reset-second-factor": "Second factors of a person removed",
    "personal-data erase": "Names and email addresses erased",
    "tenants create": "Organizer created",
    "tenants rename": "Organizer renamed",
}
"""What was done by the operator, by the command."""

_PAGES = {
    ids.EVENT: "/console/events/",
    ids.INTENT: "/console/orders/",
    ids.ADMISSION: "/console/attendees/",
    ids.API_KEY: "/console/keys/",
    ids.MEMBER: "/console/people/",
    ids.WEBHOOK_ENDPOINT: "/console/webhooks/",
}
_AMOUNTS = frozenset({"price_amount", "max_price_amount", "refunded", "waived"})
"""Fields in micro-units."""


class Difference(NamedTuple):
    """A field before and after a change, each empty or a text. `before` None: it is new."""

    name: str
    before: str | None
    after: str


@dataclass(frozen=True)
class Change:
    """One entry of the audit log. `path` is the page of its subject, if it has one."""

    at: datetime
    actor: str
    address: str | None
    action: str
    label: str | None
    subject: str
    path: str | None
    is_new: bool
    differences: Sequence[Difference]


def change_of(entry: AuditLogEntry) -> Change:
    """Return an entry of the audit log in words."""
    before = None if entry.before is None else json.loads(entry.before)
    paths = (path for prefix, path in _PAGES.items() if ids.is_id(prefix, entry.subject))
    return Change(
        at=entry.at,
        actor=entry.actor,
        address=entry.address,
        action=entry.action,
        label=ACTIONS.get(entry.action) or COMMANDS.get(entry.action),
        subject=entry.subject,
        path=next((path + entry.subject for path in paths), None),
        is_new=before is None,
        differences=_differences(before, json.loads(entry.after)),
    )


def _differences(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Difference]:
    return [
        Difference(
            name.replace("_", " "),
            None if before is None else _text(name, before.get(name)),
            _text(name, value),
        )
        for name, value in after.items()
        # The subject is beside it, and fields that are empty from the start say nothing.
        if name != "id" and not (before is None and value is None)
    ]


def _text(name: str, value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, Mapping):
        return ", ".join(_text(name, each) for each in value.values() if each is not None)
    if isinstance(value, list):
        return ", ".join(_text(name, each) for each in value)
    if isinstance(value, int) and not isinstance(value, bool) and name in _AMOUNTS:
        return formats.amount(value, CURRENCY)
    return value if isinstance(value, str) else json.dumps(value)

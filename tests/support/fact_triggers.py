"""Triggers that note each fact beside the service, from the rows that change.

A fact is noted in the transaction that makes it true, and a rollback removes it. So what they note
is what the notifications must say, whatever else happens.
"""

from collections import Counter

from ticketing.db.connection import database, is_sqlite

Facts = Counter[tuple[str, str]]
"""How often each fact happened: its type, and the id of what it is about."""

EVENT_FIELDS = (
    "title",
    "slug",
    "description",
    "type",
    "venue",
    "start_at",
    "end_at",
    "timezone",
    "online_join_url",
    "capacity",
    "doors_open_at",
    "transfers_end_at",
    "carts",
    "visibility",
    "locale",
)
RECORDED = "('processing', 'confirmed', 'expired', 'canceled', 'reversed')"


def _full(row: str) -> str:
    return f"({row}.capacity IS NOT NULL AND {row}.sold >= {row}.capacity)"


_FIELDS_DIFFER = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in EVENT_FIELDS)
_DUE_BEFORE, _DUE = (f"{row}.due - {row}.pending" for row in ("OLD", "NEW"))
_ENTERED = f"OLD.status <> NEW.status AND NEW.status IN {RECORDED}"
_REFUNDED = "NEW.refunded > OLD.refunded"
_MOVED = "(OLD.chain_id <> NEW.chain_id)"
_HOME = (
    "EXISTS (SELECT 1 FROM payment_intents i WHERE i.id = NEW.intent_id{status}"
    " AND i.chain_id = NEW.chain_id AND i.token_address = NEW.token_address)"
)
_SEEN = f"OLD.received = 0 AND NEW.received > 0 AND NOT {_HOME.format(status='')}"
_FINALIZED = "OLD.early AND NOT NEW.early AND NEW.status = 'confirmed'"
_AWAITS = _HOME.format(status=" AND i.status = 'awaiting_payment'")
_PART_PAID = f"NEW.received > OLD.received AND {_AWAITS}"
_PAIRED = "OLD.paired_at IS NULL AND NEW.paired_at IS NOT NULL"
_PUBLISHED = "OLD.status <> 'published' AND NEW.status = 'published'"
_CANCELED = "OLD.status <> 'canceled' AND NEW.status = 'canceled'"
_DRAFT = "OLD.status = 'published' AND NEW.status = 'draft'"
# A canceled event takes all its seats back. That is no news of its ticket types.
_ON_SALE = (
    "NEW.status <> 'canceled' AND NOT EXISTS (SELECT 1 FROM admissions"
    " WHERE ticket_type_id = NEW.id AND void_reason = 'event_canceled')"
)
_SOLD_OUT = f"{_full('NEW')} AND NOT {_full('OLD')} AND {_ON_SALE}"
_AVAILABLE = f"{_full('OLD')} AND NOT {_full('NEW')} AND {_ON_SALE}"
_USED_UP = "NEW.redeemed > OLD.redeemed AND NEW.redeemed >= NEW.max_usages"
_NEW_GENERATION = "NEW.generation > OLD.generation"
_HANDED_OVER = "OLD.transferred_at IS DISTINCT FROM NEW.transferred_at"
# The link of a new tenant's first member is printed. It invites no address.
_HAS_EMAIL = "(SELECT email FROM members WHERE id = NEW.member_id) IS NOT NULL"
_USED_UP = "NEW.redeemed > OLD.redeemed AND NEW.redeemed >= NEW.max_usages"
_RETURNED = "OLD.returned_at IS NULL AND NEW.returned_at IS NOT NULL"
_KEPT = "OLD.returned_at IS NOT NULL AND NEW.returned_at IS NULL"
# Who voids an offered seat ends the offer first. A resold one, or one of a canceled event, is news
# of its own.
_KEPT += " AND NEW.status <> 'void'"
_VOIDED = "OLD.status <> 'void' AND NEW.status = 'void' AND NEW.void_reason <> 'event_canceled'"

NOTED = (
    ("events", "INSERT", "'event.published'", "id", "NEW.status = 'published'"),
    ("events", "UPDATE", "'event.published'", "id", _PUBLISHED),
    ("events", "UPDATE", "'event.canceled'", "id", _CANCELED),
    ("events", "UPDATE", "'event.changed'", "id", f"({_DRAFT}) OR {_FIELDS_DIFFER}"),
    ("ticket_types", "UPDATE", "'ticket_type.sold_out'", "id", _SOLD_OUT),
    ("ticket_types", "UPDATE", "'ticket_type.available_again'", "id", _AVAILABLE),
    ("vouchers", "UPDATE", "'voucher.used_up'", "id", _USED_UP),
    ("payment_intents", "INSERT", "'intent.created'", "id", "TRUE"),
    ("payment_intents", "UPDATE", "'intent.' || NEW.status", "id", _ENTERED),
    ("payment_intents", "UPDATE", "'intent.finalized'", "id", _FINALIZED),
    ("payment_intents", "UPDATE", "'intent.chain_changed'", "id", _MOVED),
    ("order_accounts", "UPDATE", "'intent.part_paid'", "intent_id", _PART_PAID),
    ("order_accounts", "UPDATE", "'stray.seen'", "intent_id", _SEEN),
    ("order_accounts", "UPDATE", "'refund.due'", "intent_id", f"{_DUE_BEFORE} <= 0 AND {_DUE} > 0"),
    ("order_accounts", "UPDATE", "'refund.settled'", "intent_id", _REFUNDED),
    ("refund_addresses", "INSERT", "'refund.address_changed'", "intent_id", "TRUE"),
    ("waivers", "INSERT", "'refund.waived'", "intent_id", "TRUE"),
    ("admissions", "INSERT", "'admission.issued'", "id", "TRUE"),
    ("admissions", "UPDATE", "'admission.return_offered'", "id", _RETURNED),
    ("admissions", "UPDATE", "'admission.return_canceled'", "id", _KEPT),
    (
        "admissions",
        "UPDATE",
        "'admission.transferred'",
        "id",
        f"{_NEW_GENERATION} AND {_HANDED_OVER}",
    ),
    (
        "admissions",
        "UPDATE",
        "'admission.reissued'",
        "id",
        f"{_NEW_GENERATION} AND NOT {_HANDED_OVER}",
    ),
    ("admissions", "UPDATE", "'admission.voided'", "id", _VOIDED),
    (
        "admissions",
        "UPDATE",
        "'admission.redeemed'",
        "id",
        "OLD.redeemed_by IS NULL AND NEW.redeemed_by IS NOT NULL",
    ),
    (
        "admissions",
        "UPDATE",
        "'admission.redeem_undone'",
        "id",
        "OLD.redeemed_by IS NOT NULL AND NEW.redeemed_by IS NULL",
    ),
    ("transfers", "INSERT", "'admission.transfer_offered'", "admission_id", "TRUE"),
    ("api_keys", "INSERT", "'api_key.created'", "id", "TRUE"),
    ("api_keys", "UPDATE", "'api_key.created'", "id", "NEW.generation > OLD.generation"),
    ("door_devices", "UPDATE", "'door_device.paired'", "id", _PAIRED),
    ("door_devices", "INSERT", "'door_device.paired'", "id", "NEW.paired_at IS NOT NULL"),
    ("invitations", "INSERT", "'member.invited'", "member_id", _HAS_EMAIL),
)
"""What is noted: the table, the kind of change, the type, the column with the id, and when."""


def install() -> None:
    """Note all facts from now on. What was noted before is forgotten."""
    database.execute_sql("CREATE TABLE IF NOT EXISTS noted_facts (type TEXT, subject TEXT)")
    database.execute_sql("DELETE FROM noted_facts")
    for number, (table, kind, type, subject, condition) in enumerate(NOTED):
        name = f"note_{number}"
        _drop(name, table)
        note = (
            f"INSERT INTO noted_facts (type, subject) SELECT {type}, NEW.{subject}"
            f" WHERE {condition};"
        )
        if is_sqlite():
            body = f"BEGIN {note} END"
        else:
            database.execute_sql(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN {note} RETURN NULL; END $$"
            )
            body = f"EXECUTE FUNCTION {name}()"
        database.execute_sql(f"CREATE TRIGGER {name} AFTER {kind} ON {table} FOR EACH ROW {body}")


def remove() -> None:
    """Note no more facts."""
    for number, (table, *_) in enumerate(NOTED):
        _drop(f"note_{number}", table)


def _drop(name: str, table: str) -> None:
    of_table = "" if is_sqlite() else f" ON {table}"
    database.execute_sql(f"DROP TRIGGER IF EXISTS {name}{of_table}")


def noted() -> Facts:
    """Return the facts that happened."""
    rows = database.execute_sql("SELECT type, subject FROM noted_facts").fetchall()
    return Counter((type, subject) for type, subject in rows)

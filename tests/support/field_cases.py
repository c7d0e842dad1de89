"""The values that each field of a request and each query parameter accepts, and rejects."""

from typing import Any

from tests.support.factories import in_days
from tests.support.field_values import (
    BAD_TIMES,
    BOOLEAN,
    EMAIL,
    EPOCH,
    EVENT,
    FOUR_BYTES,
    GOOD_TIMES,
    RIGHT_TO_LEFT,
    SERIES,
    TENANT,
    TICKET_TYPE,
    choice,
    instant,
    integer,
    text,
)
from ticketing import ids
from ticketing.constants import QuestionType
from ticketing.notification_types import NotificationType
from ticketing.waiting_list import EntryStatus

ADDRESS = "0x" + "ab" * 20
TX_HASH = {"tx_hash": "0x" + "ab" * 32}
SIGNED = {
    **dict.fromkeys(("from", "to"), ADDRESS),
    **dict.fromkeys(("value", "validAfter", "validBefore"), "1"),
    "nonce": "0x" + "ab" * 32,
    "signature": "0xab",
}
NOWHERE = ids.INTENT + "0" * 26
HOLDER = ([{}], [None, [], "Ada", 1, True])
NAME = text(1, 200, null=True)
SCAN = {
    "nonce": "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b",
    "kind": "redeem",
    "code": "x",
    "at": EPOCH,
}
HOOK_URL = text(
    1,
    2048,
    free=False,
    good=("https://a.example/", "https://a.example:8443/" + "x" * 2025),
    bad=("javascript:alert(1)", "//a.example", "a.example", "https://", "x", "https://a.b/ c"),
)
HOOK_TYPES = (
    [["*"], ["intent.confirmed"], ["refund.due", "webhook.test"]],
    [[], ["*", "refund.due"], ["*", "*"], None, {}, "*", 1, True],
)
VOUCHER = {
    "max_usages": integer(1, 100_000),
    "min_usages": integer(1, 100),
    "valid_until": ([*GOOD_TIMES, None], BAD_TIMES),
    # These depend on each other, and on what there is: see tests/api/test_vouchers.py.
    "price_mode": (["none"], choice("none", "set", "subtract", "percent")[1]),
    "value": ([], integer(0, 10**15, null=True)[1]),
    "ticket_ids": ([None], [[], ["x"] * 101, {}, "x", 1, True]),
    "tag": text(1, 50, null=True, bad=(" ", "\n")),
    "comment": text(1, 500, null=True, bad=(" ", "\n")),
}
ROLE = choice("read", "paywall", "write", "admin")
MEMBER_ROLE = choice("read", "paywall", "write", "admin", "finance", "door")
EVENTS = ([None], [[], ["x"] * 101, {}, "x", 1, True])
"""Of a limited member. Those within the bounds must exist: tests/api/test_limited_members.py."""

NEEDED_EMAIL = text(3, 254, free=False, good=("a@b.io",), bad=("ada", "a@b@c.io", "a b@c.io"))
NEW_STATUS = choice("draft", "published")
ANSWERS_GIVEN = (
    [{}, {"diet": "x" * 1000}, {"a": None, "b": True, "c": -1.5, "d": ["x"] * 50}],
    [None, [], "x", 1, True, dict.fromkeys(map(str, range(21)), "x")],
)
QUESTION = {
    "identifier": text(1, 50, free=False, good=("a", "a-1"), bad=("A", "a_b", "-a", "a--b")),
    "question": text(1, 200, bad=(" ", "\n")),
    "help_text": text(0, 500, null=True),
    "type": choice(*QuestionType),
    "required": BOOLEAN,
    "ask": choice("order", "attendee"),
    "position": integer(1, 20),
    "ticket_ids": ([["x"], ["x" * 80] * 100, None], [[], ["x"] * 101, {}, "x", 1, True]),
    "options": (
        [[], [{"label": "x" * 100}], [{"id": "x", "label": "x"}] * 50],
        [None, {}, "x", 1, True, [{"label": "x"}] * 51],
    ),
    "show_at_door": BOOLEAN,
}


def crowd(network, seats=5):
    """A network behind which many people order."""
    return {"network": network, "seats": seats}


WANTED = ([], [[], None, {}, "x", 1])
"""Of items. Those within the bounds are in tests/api/test_carts.py."""

CODE_TYPED = ([None], text(1, 100, null=True)[1])
"""Of a code of no voucher: within the bounds it is looked up before the rest, and refused."""

ACCOUNT = {
    "chain_id": integer(1, 2**53 - 1, null=True),
    "token_address": text(42, 42, null=True, free=False, good=(ADDRESS,), bad=("x" * 42,)),
}
"""Which refund of an order is meant."""

MANY_STARTS = [f"2031-06-01T{hour:02}:{minute:02}" for hour in range(20) for minute in (0, 1, 2)]
MESSAGE = {"subject": text(1, 120, bad=(" ", "\n")), "text": text(1, 5000, bad=(" ", "\n"))}

CASES = {
    "TenantChange": TENANT,
    "EventCreate": {**EVENT, "status": NEW_STATUS},
    "EventChange": {**EVENT, "force": BOOLEAN, "tell_people": BOOLEAN},
    # What is wrong in one of them is refused at its place: tests/api/test_crowds.py.
    "CrowdsChange": {
        "crowds": (
            [[], [crowd("192.0.2.1/32")], [crowd(f"10.{n}.0.0/16") for n in range(10)]],
            [
                *([crowd("192.0.2.1/32")] * 2, None, {}, "x", 1),
                [crowd(f"10.{n}.0.0/16") for n in range(11)],
            ],
        ),
    },
    "EventCopy": {
        "starts": (
            [["2031-06-01T20:00"], ["1970-01-01T00:00:59", "9999-12-31T23:59"], MANY_STARTS],
            [[], ["2031-06-01T20:00"] * 2, [*MANY_STARTS, "2032-01-01T00:00"], None, {}, "x", 1],
        ),
        "status": NEW_STATUS,
        "series": SERIES,
    },
    "SeriesChange": {
        "title": text(1, 200, bad=(" ", "\n"), null=True),
        "description": text(0, 10_000),
    },
    "MessagePreview": MESSAGE,
    "MessageCreate": {
        **MESSAGE,
        "audience": choice("holders", "buyers", "not_redeemed", "canceled"),
        "ticket_ids": ([["x"], ["x" * 80] * 100, None], [[], ["x"] * 101, {}, "x", 1, True]),
        "send_at": instant(null=True),
    },
    "TicketTypeCreate": {**TICKET_TYPE, "status": NEW_STATUS},
    "TicketTypeChange": TICKET_TYPE,
    "Status": {"status": choice("draft", "published", "canceled")},
    "EventStatusChange": {"status": choice("draft", "published", "canceled"), "refund": BOOLEAN},
    "X402EventOrder": {
        "items": WANTED,
        "buyer": HOLDER,
        "buyer.email": EMAIL,
        "buyer.name": NAME,
        "max_amount": integer(0, 2**53 - 1, null=True),
        "voucher": CODE_TYPED,
        "answers": ANSWERS_GIVEN,
        "locale": choice("de", "en", "pl", null=True),
    },
    "X402Order": {
        "quantity": integer(1, 100),
        "buyer": HOLDER,
        "buyer.email": EMAIL,
        "buyer.name": NAME,
        "max_amount": integer(0, 2**53 - 1, null=True),
        "voucher": CODE_TYPED,
        "answers": ANSWERS_GIVEN,
        "locale": choice("de", "en", "pl", null=True),
    },
    "Preflight": {
        "event_id": text(1, 80),
        "ticket_id": text(1, 80),
        "chain_id": integer(1, 2**53 - 1, null=True),
        "quantity": integer(1, 100),
        "buyer": HOLDER,
        "buyer.email": EMAIL,
        "buyer.name": NAME,
        "max_amount": integer(0, 2**53 - 1, null=True),
        "items": WANTED,
        "voucher": CODE_TYPED,
        "answers": ANSWERS_GIVEN,
        "locale": choice("de", "en", "pl", null=True),
    },
    "HolderChange": {
        "holder": HOLDER,
        "holder.email": EMAIL,
        "holder.name": NAME,
        "answers": ([{}], ANSWERS_GIVEN[1]),
    },
    "AnswersChange": {"answers": ANSWERS_GIVEN},
    "QuestionCreate": QUESTION,
    "QuestionChange": QUESTION,
    "TransferCreate": {"holder": HOLDER, "holder.email": EMAIL, "holder.name": NAME},
    "TransferAccept": {
        "offer": text(1, 200),
        "holder": HOLDER,
        "holder.email": EMAIL,
        "holder.name": NAME,
    },
    "ApiKeyCreate": {
        "name": text(1, 100),
        "role": ROLE,
        "ttl_seconds": integer(60, 31_536_000),
    },
    "ApiKeyRotate": {
        "overlap_seconds": integer(0, 86_400),
        "ttl_seconds": integer(60, 31_536_000),
    },
    "MemberInvite": {"email": NEEDED_EMAIL, "role": MEMBER_ROLE, "event_ids": EVENTS},
    "MemberChange": {"role": MEMBER_ROLE, "event_ids": EVENTS},
    "InvitationAccept": {
        "invitation": text(1, 200),
        "password": text(
            12,
            128,
            free=False,
            good=("x" * 12, "x" * 128, RIGHT_TO_LEFT * 2, " " * 12),
            bad=("x" * 11,),
        ),
        "email": EMAIL,
        "code": text(1, 40, null=True),
    },
    "KeyExchange": {"api_key": text(1, 200)},
    "Login": {
        "tenant": text(1, 100),
        "email": text(1, 254),
        "password": text(1, 128),
        "code": text(1, 40, null=True),
    },
    "RefundSettle": {
        **ACCOUNT,
        "tx_hash": text(66, 66, free=False, good=("0x" + "ab" * 32,), bad=("x" * 66,)),
        "recipient": text(42, 42, null=True, free=False, good=(ADDRESS,), bad=("x" * 42,)),
    },
    "RefundsSettle": {
        "tx_hash": text(66, 66, free=False, good=("0x" + "ab" * 32,), bad=("x" * 66,)),
        "chain_id": integer(1, 2**53 - 1),
    },
    "PayoutCreate": {
        "chain_id": integer(1, 2**53 - 1),
        "token": text(42, 42, null=True, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "payer": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "accept_unwitnessed": BOOLEAN,
        "include_cautioned": BOOLEAN,
        "only": (
            [None, [NOWHERE], ["x" * 80], [NOWHERE] * 1000],
            [[], [NOWHERE] * 1001, {}, "x", 1, True],
        ),
    },
    "Void": {
        "reason": text(1, 500, bad=(" ", "\n")),
        "refund": BOOLEAN,
        "transferred": BOOLEAN,
        "force": BOOLEAN,
    },
    "Reissue": {"email": EMAIL},
    "EmailChange": {"email": NEEDED_EMAIL},
    "EmailCorrection": {"email": NEEDED_EMAIL, "end_old_links": BOOLEAN},
    "GuestList": {
        "holders": (
            [[{}], [{"name": "Ada"}] * 100, [{"name": None, "email": "a@b.io"}]],
            [None, {}, "Ada", 1, True, [], [{}] * 101],
        ),
        "reason": text(1, 500, bad=(" ", "\n"), null=True),
    },
    "RefundPayee": {
        **ACCOUNT,
        "address": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "reason": text(1, 500),
    },
    "RefundByHand": {"by_hand": BOOLEAN, **ACCOUNT},
    "RefundPassOver": {
        "payer": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "payment_id": text(66, 66, free=False, good=("0x" + "ab" * 32,), bad=("x" * 66,)),
        "reason": text(1, 500, bad=(" ", "\n")),
        **ACCOUNT,
    },
    "RefundWaive": {**ACCOUNT, "amount": integer(1, 2**53 - 1), "reason": text(1, 500)},
    "RefundsWaive": {
        "max_amount": integer(1, 2**53 - 1),
        "chain_id": integer(1, 2**53 - 1, null=True),
        "reason": text(1, 500),
    },
    "BillingChange": {
        "name": text(1, 200, bad=(" ", "\n"), null=True),
        "address": text(1, 500, bad=(" ", "\n"), null=True),
        "tax_id": text(1, 50, bad=(" ", "\n"), null=True),
    },
    "SignedTransfer": {
        **dict.fromkeys(("from", "to"), text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,))),
        "value": text(1, 78, free=False, good=("0", "9" * 78), bad=("-1", "1.0", "٣")),
        **dict.fromkeys(
            ("validAfter", "validBefore"),
            text(1, 18, free=False, good=("0", "9" * 18), bad=("-1", "1.0", "٣")),
        ),
        "nonce": text(66, 66, free=False, good=("0x" + "aB" * 32,), bad=("0x" + "g" * 64,)),
        "signature": text(
            4, 4098, free=False, good=("0xaB", "0x" + "ab" * 2048), bad=("0x", "0xa")
        ),
    },
    "ChainChoice": {"chain_id": integer(1, 2**53 - 1)},
    "RefundAddress": {
        **ACCOUNT,
        "address": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "signature": text(1, 8192, null=True),
    },
    "PayerReport": {
        "account": text(42, 42, free=False, good=(ADDRESS,), bad=("x" * 42,)),
        "tx_hash": text(66, 66, free=False, good=("0x" + "ab" * 32,), bad=("x" * 66,)),
        "chain_id": integer(1, 2**53 - 1),
    },
    "DoorDeviceCreate": {
        "name": text(1, 100),
        "gate": text(1, 100, null=True),
        "show_names": BOOLEAN,
        "sells": BOOLEAN,
        "expires_at": ([in_days(1)], BAD_TIMES),
    },
    "BoxOfficeOrder": {
        "ticket_id": text(1, 80),
        "quantity": integer(1, 100),
        "chain_id": integer(1, 2**53 - 1, null=True),
    },
    "Release": {"force": BOOLEAN},
    "Join": {
        "event_id": text(1, 80),
        "ticket_id": text(1, 80),
        "quantity": integer(1, 4),
        "email": NEEDED_EMAIL,
        "name": NAME,
        "locale": choice("de", "en", "pl", null=True),
    },
    "DoorDeviceRevoke": {"undo_since": ([*GOOD_TIMES, None], BAD_TIMES)},
    "Pair": {"pairing_code": text(1, 40)},
    "Scans": {
        "sent_at": (GOOD_TIMES, [*BAD_TIMES, None]),
        "scans": ([[SCAN], [SCAN] * 500], [[], [SCAN] * 501, None, {}, "x", 1]),
        "unsynced": integer(0, 1_000_000),
    },
    "VoucherCreate": {
        **VOUCHER,
        "code": text(5, 40, null=True, free=False, good=("ABC-1", "A" * 40), bad=("A B C D",)),
    },
    "VoucherBatchCreate": {
        **VOUCHER,
        "count": integer(1, 500),
        "prefix": text(1, 20, null=True, free=False, good=("A", "a" * 20), bad=("A B", "\u00c4")),
    },
    "VoucherChange": VOUCHER,
    "WebhookCreate": {"url": HOOK_URL, "types": HOOK_TYPES},
    "WebhookChange": {"url": HOOK_URL, "types": HOOK_TYPES},
    "WebhookRotate": {"overlap_seconds": integer(0, 86_400)},
    "WebhookEnable": {"from": ([*GOOD_TIMES], [*BAD_TIMES, None])},
    "WebhookResend": {
        "since": ([*GOOD_TIMES], [*BAD_TIMES, None]),
        "ids": ([["x"], ["x" * 80] * 100], [[], ["x"] * 101, None, {}, "x", 1, True]),
    },
    # An address is only taken with its networks: see tests/api/test_wallet_address.py.
    "WalletSet": {
        "address": ([], text(1, 400, free=False)[1]),
        "chain_ids": ([], [None, [], [1] * 65, {}, "1", 1, True]),
        "contract_is_mine": ([], BOOLEAN[1]),
        "exchange": ([], BOOLEAN[1]),
        "minimum_deposit": ([], integer(0, 10**15, null=True)[1]),
        "recovery": ([], [None, [], "x", 1, True]),
    },
}


PAGE = {
    "limit": (["1", "100"], ["0", "101", "-1", "x", "", "1.0", "1e1", "+1", " 1", "٣", "9" * 400]),
    "cursor": ([], ["", "x", "x" * 1001, "a\0b"]),
}
NAMED = (["cli", "x" * 100, RIGHT_TO_LEFT], ["", "x" * 101, "a\0b"])
ID = (["evt_x", "x" * 80, RIGHT_TO_LEFT], ["", "x" * 81, "a\0b"])


def option(*values: str) -> tuple[Any, Any]:
    return values, ("", "gone", values[0].upper(), "a\0b")


NOT_A_CHAIN = (
    [],
    ["0", "-1", "9007199254740992", "x", "", "1.0", "1e1", "+1", " 1", "٣", "9" * 400],
)
NOT_AN_ADDRESS = ([], ["", "0x", "x", "0x" + "g" * 40, "0x" + "1" * 41, "a\0b"])

QUERIES = {
    "/events": {
        **PAGE,
        "status": option("draft", "published", "canceled"),
        "type": option("online", "in_person", "hybrid"),
        "q": (["x", "x" * 200, FOUR_BYTES, "%_\\'"], ["", "x" * 201, "a\0b"]),
        "sort": option("created_at", "-created_at", "start_at", "-start_at"),
    },
    "/events/{event_id}/tickets": PAGE,
    "/events/{event_id}/questions": PAGE,
    "/events/{event_id}/messages": PAGE,
    "/events/{event_id}/answers": {"question_id": ([], ["", "x" * 81, "a\0b"])},
    "/apikeys": {**PAGE, "status": option("active", "expired", "revoked")},
    "/intents": {
        **PAGE,
        "status": option(
            "awaiting_payment", "processing", "confirmed", "expired", "canceled", "reversed"
        ),
        "event_id": ID,
        "flag": option("underpaid", "overpaid", "paid_late", "duplicate", "reorged"),
        "q": (["x", "x" * 254], ["", "x" * 255, "a\0b"]),
    },
    "/intents/{intent_id}/payments": PAGE,
    "/collections": {
        "chain_id": NOT_A_CHAIN,
        "token": NOT_AN_ADDRESS,
        "after": ([], ["", "x" * 81, "a\0b"]),
        "owner_confirmed": ([], ["", "True", "1", "0", "no", "a\0b"]),
    },
    # Its chain needs receivers: tests/payments/test_payout_previews.py.
    "/payouts/preview": {
        "chain_id": NOT_A_CHAIN,
        "token": NOT_AN_ADDRESS,
        "payer": NOT_AN_ADDRESS,
    },
    "/refunds": {
        **PAGE,
        "status": option("due", "waived", "settled"),
        "min_amount": (
            ["1", "9007199254740991"],
            ["0", "-1", "9007199254740992", "x", "", "1.0", "1e1", "+1", " 1", "٣", "9" * 400],
        ),
        "sort": option("created_at", "-amount"),
    },
    "/notifications": {
        "limit": PAGE["limit"],
        "after": (["0"], ["-1", "9007199254740992", "x", "", "1.0", "٣"]),
        "type": option(*NotificationType),
    },
    "/members": PAGE,
    "/sales": {"event_id": ID, "by": option("day")},
    "/audit-log": {**PAGE, "actor": NAMED, "subject": NAMED},
    "/events/{event_id}/door-devices": PAGE,
    "/events/{event_id}/waiting-list": {**PAGE, "status": option(*EntryStatus)},
    "/events/{event_id}/vouchers": {
        **PAGE,
        "status": option("active", "used_up", "expired", "disabled"),
        "tag": (["x", "x" * 50, RIGHT_TO_LEFT], ["", "x" * 51, "a\0b"]),
        "q": (["x", "x" * 100, FOUR_BYTES, "%_\\'"], ["", "x" * 101, "a\0b"]),
    },
    "/webhooks": PAGE,
    "/webhooks/{webhook_id}/deliveries": {
        **PAGE,
        "only_failed": (["true", "false"], ["", "True", "1", "0", "no", "a\0b"]),
    },
    "/admissions": {
        **PAGE,
        "event_id": ID,
        "status": option("valid", "suspended", "void"),
        "redeemed": (["true", "false"], ["", "True", "1", "0", "no", "a\0b"]),
        "return": option("offered", "in_progress", "resold"),
        "q": (["x", "x" * 200, FOUR_BYTES, "%_\\'"], ["", "x" * 201, "a\0b"]),
    },
}
REQUIRED_IN_QUERIES = {
    "/collections": {"chain_id": "31337"},
    "/payouts/preview": {"chain_id": "31337", "payer": ADDRESS},
}
PUBLIC_QUERIES = {
    "/events": {**PAGE, "series": (["s", "a-b-9"], ["", "A", "a b", "x" * 81, "a\0b"])},
    "/events/{event_id}/tickets": PAGE,
}
CHECKOUT_QUERIES = {
    "/events/{event_id}/tickets": {
        "limit": ([], PAGE["limit"][1]),
        "cursor": PAGE["cursor"],
        "voucher": ([], ["", "x" * 101, "a\0b"]),
    },
    # Within the bounds it is 404 here: tests/x402 has a facilitator.
    "/intents/{intent_id}/gasless": {"payer": ([], ["", "x" * 42, ADDRESS[:-1], "a\0b"])},
}
DOOR_QUERIES = {
    "/manifest": {
        "since": ([], ["", "x", "x" * 1001, "a\0b"]),
        "unsynced": (["0", "1000000"], ["-1", "1000001", "x", "", "1.0", "٣"]),
    }
}

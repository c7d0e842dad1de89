"""Values of each field of a request and of each query parameter: some are taken, some refused.

The golden OpenAPI document says which (tests/golden/openapi.json.xz): it is kept, and a person
reads what a change does to it. tests/api/test_field_bounds.py sends the values to the endpoints.
So it finds what is documented and not held, and what is held and not documented.
What JSON Schema cannot say stands here by hand.
"""

import json
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from tests.golden import comparing
from tests.support.factories import in_days
from tests.support.json_schema import resolve
from tests.support.odd_values import TIMES, ZONES, fits, is_unicode
from tests.support.routes import operations_of
from ticketing import ids

Values = tuple[list[Any], list[Any]]
"""What is taken, and what is refused."""

RIGHT_TO_LEFT = "\u200f\u05e9\u05dc\u05d5\u05dd \u202e\u05d0\u202c"
HUGE = 10**399
EXPONENT = "<1e3>"  # written into the body as the number 1e3
NOT_TEXT = (1, 1.5, True, [], {}, ["a"], HUGE)
UNSENDABLE = ("a\0b", "\ud800", "a\udc00b", "\udc00\ud800")
NOT_INTEGER = (1.0, EXPONENT, True, False, "1", "", [], {}, HUGE, -HUGE, 2**63, -(2**63))
EPOCH = "1970-01-01T00:00:00Z"
GOOD_TIMES = {given: read for given, read in TIMES.values() if read} | {
    "2031-06-01T10:00:00z": "2031-06-01T10:00:00Z",
    "2031-06-01t10:00:00Z": "2031-06-01T10:00:00Z",
    "2031-06-01T10:00:00+05:45": "2031-06-01T04:15:00Z",
    "2031-06-01T10:00:00-00:00": "2031-06-01T10:00:00Z",
    "2031-06-01T10:00:00.25Z": "2031-06-01T10:00:00.250000Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
    "2032-02-29T23:30:00-23:59": "2032-03-01T23:29:00Z",
}
BAD_TIMES = [
    *(given for given, read in TIMES.values() if not read),
    *("", "now", "2031-06-01", "2031-06-01 10:00:00Z", "20310601T100000Z", "2031-06-01T10:00Z"),
    *("2031-06-01T10:00:00,5Z", "2031-06-01T10:00:00.Z", "0001-01-01T00:00:00+00:01"),
    *("2031-06-30T23:59:60Z", "2031-13-01T10:00:00Z", "2031-06-01T10:60:00Z"),
    *("2031-06-01T10:00:00+05:99", "1969-12-31T23:30:00-01:00", "1970-01-01T00:30:00+01:00"),
    *("2031-06-01T10:00:00+0100", "2031-06-01T10:00:00Z\n", "2031-W05-1"),
    *(1938081600, 1.5, True, [], {}, HUGE, "\0", "\ud800"),
]
NO_NUMBERS = ("-1", "x", "", "1.0", "1e1", "+1", " 1", "٣", "9" * 400)
BLANK = (" ", "\n", "\n\t", "\u2003" * 3, "\x1c", "\x85", "\ufeff")
ODD = [RIGHT_TO_LEFT, "🎟\U0010ffff\U0001d518", " a\tb\n\x7f ", "\u0301e\u200b", "é", "e\u0301"]
ODD += ["", "%_\\'", *BLANK, *UNSENDABLE]
FORMED = [
    # Slugs, and codes that people type.
    *("x", "s", "0", "a", "a-1", "a-b-9", "A", "a_b", "-a", "a-", "a--b", "a b", "a\n", "a.b"),
    *("ABC-1", "A" * 40, "a" * 20, "A B", "A B C D", "\u00c4", "\u0660", "\u0663"),
    # URLs.
    *("http://localhost/", "https://[::1]:8443/a?b=c#d", "https://a.example/" + "x" * 2030),
    *("javascript:alert(1)", "ftp://a.example/", "//a.example", "a.example", "https://"),
    "https://a.b/ c",
    # Email addresses.
    *("a@b.io", "ada", "@example.org"),
    # Colors.
    *("#000000", "#767676", "#1F4e79", "#0000ff", "#ff0000", "#ffffff"),
    *("1f4e799", "#1f4e7g", "#1f4e7", "#1f4e79\n", "#\u0661f4e79"),
    # Addresses, hashes and signatures, and numbers of any size.
    *("0x" + "ab" * 20, "0x" + "ab" * 32, "0x" + "aB" * 32, "0xaB", "0x" + "ab" * 2048),
    *("0x" + "ab" * 2049, "0x", "0xa", "0x" + "ab" * 19 + "a", "0x" + "1" * 41, "0x" + "g" * 40),
    *("0x" + "g" * 64, "x" * 42, "x" * 66, "9" * 18, "9" * 19, "9" * 78, "9" * 79, "-1", "1.0"),
    "2031-06-01T20:00",
]

SCAN = {"nonce": "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b", "kind": "redeem", "code": "x", "at": EPOCH}
CROWD = {"network": "192.0.2.1/32", "seats": 5}
STARTS = [f"2031-06-01T{hour:02}:{minute:02}" for hour in range(20) for minute in (0, 1, 2)]
CROWDS = [{"network": f"10.{number}.0.0/16", "seats": 5} for number in range(11)]
ORDER = ids.INTENT + "0" * 26

TAKEN: dict[str, list[Any]] = {
    # No series of a tenant has the name of one of its events.
    "*.slug": ["s" * 80, "0", "a-b-9"],
    "*.series": ["r" * 80, "1", "b-a-8", None],
    "*.timezone": ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"],
    "DoorDeviceCreate.expires_at": [in_days(1)],
    "TicketType*.deposit_amount": [0, 5_000_000],  # not above the price of these tests
    "Webhook*.url": ["https://a.example/", "https://a.example:8443/" + "x" * 2025],
    "EventCopy.starts": [["2031-06-01T20:00"], ["1970-01-01T00:00:59", "9999-12-31T23:59"], STARTS],
    "CrowdsChange.crowds": [[], [CROWD], CROWDS[:10]],
    "PayoutCreate.only": [None, [ORDER], ["x" * 80], [ORDER] * 1000],
    "Scans.scans": [[SCAN], [SCAN] * 500],
    "Webhook*.types": [["*"], ["intent.confirmed"], ["refund.due", "webhook.test"]],
    "Question*.options": [[], [{"label": "x" * 100}], [{"id": "x", "label": "x"}] * 50],
    "GuestList.holders": [[{}], [{"name": "Ada"}] * 100, [{"name": None, "email": "a@b.io"}]],
    "HolderChange.answers": [{}],
    "*.answers": [{}, {"diet": "x" * 1000}, {"a": None, "b": True, "c": -1.5, "d": ["x"] * 50}],
    # These depend on each other, and on what there is. Tests of their own have the others:
    # tests/api/test_vouchers.py, test_limited_members.py, test_carts.py, test_networks.py,
    # test_wallet_address.py.
    "Voucher*.price_mode": ["none"],
    "Voucher*.value": [],
    "Voucher*.ticket_ids": [None],
    "Member*.event_ids": [None],
    "*.items": [],
    "*.voucher": [None],  # a code is looked up before the rest
    "TicketType*.chain_ids": [],
    "WalletSet.*": [],
    # Only what an answer gave is taken. A network needs a node, receivers or a facilitator.
    "* cursor": [],
    "* since": [],
    "* voucher": [],
    "* question_id": [],
    "*/notifications after": ["0"],
    "*/sales by": ["day"],  # the others are of an event
    "*/collections *": [],
    "*/payouts/preview *": [],
    "*/gasless *": [],
}
"""What is taken of a field `Schema.field`, or of a parameter `path name`. The first that fits."""

TAKEN_TOO: dict[str, list[Any]] = {
    "Event*.start_at": [EPOCH],
    "TicketType*.sales_start_at": [EPOCH],
    "InvitationAccept.password": [RIGHT_TO_LEFT * 2, " " * 12],
    "* event_id": ["evt_x"],
    "* actor": ["cli"],
    "* subject": ["cli"],
}
REFUSED_TOO: dict[str, list[Any]] = {
    "* cursor": ["x"],
    "* since": ["x"],
    "[!L]*email": ["a@b@c.io", "a b@c.io"],  # a login only compares
    "*.timezone": [*ZONES, "europe/berlin", "+02:00", "../../etc/passwd", "UTC\n", "localtime "],
    "TicketType*.deposit_amount": [5_000_001],
    "TicketType*.chain_ids": [[1, 1]],
    "Webhook*.types": ["*", ["*", "refund.due"], ["*", "*"]],
    "EventCopy.starts": [["2031-06-01T20:00"] * 2, [*STARTS, "2032-01-01T00:00"]],
    "CrowdsChange.crowds": [CROWDS, [CROWD] * 2],
    "GuestList.holders": [[{}] * 101],
    "PayoutCreate.only": [[ORDER] * 1001],
    "Question*.options": [[{"label": "x"}] * 51],
    "Scans.scans": [[SCAN] * 501],
}
"""What JSON Schema allows and a sentence of the document does not; too long lists of objects."""

SHOWN_AS_DEFAULT = {"doors_open_at", "transfers_end_at", "code"}
"""What is never shown as null: null stands for a default, as a time or a random code."""

SHOWN_IN_CAPITALS = {"code"}
"""What people type by hand, and the service reads in any case."""


def shown(field: str, value: Any) -> Any:
    """Return how a value that was taken is given back."""
    if field in SHOWN_IN_CAPITALS and value is not None:
        return value.upper()
    return GOOD_TIMES.get(value, value) if field.endswith(("_at", "_until")) else value


def values_of(schema: dict[str, Any]) -> Values:
    """Return values that a schema takes, and values that it refuses."""
    types = schema.get("type", "object")  # a reference is to an object
    kind, *others = [types] if isinstance(types, str) else types
    kind = "enum" if "enum" in schema else schema.get("format", kind)
    inside, outside = KINDS[kind](schema)
    return ([*inside, None], outside) if "null" in others else (inside, [*outside, None])


def _choice(schema: dict[str, Any]) -> Values:
    inside = [each for each in schema["enum"] if each is not None]
    others = [each for name in inside for each in (name.upper(), f"{name} ")]
    return inside, [*NOT_TEXT, *UNSENDABLE, "", "gone", *others]


def _text(schema: dict[str, Any]) -> Values:
    low, high = schema.get("minLength", 1), schema.get("maxLength", 1)
    texts = ["x" * length for length in (low, high, low - 1, high + 1)]
    texts += [*ODD, *([] if fits(DOCUMENT, schema, "x y" * 5) else FORMED)]
    longest = max((len(each) for each in texts if fits(DOCUMENT, schema, each)), default=0)
    texts = [*dict.fromkeys([*texts, "x" * (longest + 1)])]
    inside = [each for each in texts if fits(DOCUMENT, schema, each)]
    return inside, [*NOT_TEXT, *(each for each in texts if each not in inside)]


def _integer(schema: dict[str, Any]) -> Values:
    low, high = schema["minimum"], schema["maximum"]
    return [low, high], [*NOT_INTEGER, low - 1, high + 1]


def _boolean(_: dict[str, Any]) -> Values:
    return [True, False], ["true", "false", "", 0, 1, 1.0, [], {}]


def _moment(_: dict[str, Any]) -> Values:
    return [*GOOD_TIMES], [*BAD_TIMES]


def _object(schema: dict[str, Any]) -> Values:
    more = range(schema["maxProperties"] + 1) if "maxProperties" in schema else ()
    too_many = [dict.fromkeys(map(str, more), "x")] if more else []
    return [{}], [[], "Ada", "x", 1, True, *too_many]


def _list(schema: dict[str, Any]) -> Values:
    items, most = schema["items"], schema["maxItems"]
    outside = [{}, "Ada", "x", "1", 1, True, *([[]] if schema["minItems"] else [])]
    if "$ref" in items or "enum" in items:
        return [], outside
    inside, _ = values_of(items)
    first, last = inside[0], inside[:2][-1]
    return [[first], [last] * most], [*outside, [first] * (most + 1)]


KINDS: dict[str, Callable[[dict[str, Any]], Values]] = {
    "enum": _choice,
    "string": _text,
    "integer": _integer,
    "boolean": _boolean,
    "date-time": _moment,
    "object": _object,
    "array": _list,
}


def in_query(schema: dict[str, Any]) -> Values:
    """Return values of a parameter: texts, as URLs have them."""
    if schema["type"] == "boolean":
        return ["true", "false"], ["", "True", "1", "0", "no", "a\0b"]
    inside, outside = values_of(schema)
    if schema["type"] == "integer":
        beyond = [str(schema["minimum"] - 1), str(schema["maximum"] + 1)]
        return [str(each) for each in inside], [*beyond, *NO_NUMBERS]
    return inside, [each for each in outside if isinstance(each, str) and is_unicode(each)]


def _with_words(name: str, values: Values) -> Values:
    """Return values of a field or a parameter, with what is written by hand for it."""
    taken, taken_too, refused = (
        [some for names, some in by_hand.items() if fnmatchcase(name, names)]
        for by_hand in (TAKEN, TAKEN_TOO, REFUSED_TOO)
    )
    inside = taken[0] if taken else values[0]
    outside = [each for some in refused for each in some]
    more = [each for some in taken_too for each in some]
    return [*(each for each in inside if each not in outside), *more], [*values[1], *outside]


def _fields(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of a schema, first what is required, and `a.b` for `b` within `a`."""
    needed = schema.get("required", ())
    for name, field in sorted(schema["properties"].items(), key=lambda each: each[0] not in needed):
        yield prefix + name, field
        if "$ref" in field:
            yield from _fields(resolve(DOCUMENT, field), f"{name}.")


def _body_of(operation: dict[str, Any]) -> Any:
    """Return what an operation takes, if it takes JSON."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json")


DOCUMENT = json.loads(comparing.read("openapi.json.xz"))
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = operations_of(DOCUMENT)
BODIES = {
    body["schema"]["$ref"].rpartition("/")[2]: (method, path, body["example"])
    for (method, path), operation in OPERATIONS.items()
    if (body := _body_of(operation))
}
"""Where each schema is sent, and its example."""

CASES: dict[str, dict[str, Values]] = {
    name: {
        field: _with_words(f"{name}.{field}", values_of(schema))
        for field, schema in _fields(SCHEMAS[name])
    }
    for name in BODIES
}
QUERIES: dict[str, dict[str, Values]] = {
    path: {
        each["name"]: _with_words(f"{path} {each['name']}", in_query(each["schema"]))
        for each in asked
    }
    for (_, path), operation in OPERATIONS.items()
    if (asked := [each for each in operation.get("parameters", ()) if each["in"] == "query"])
}

"""The fields of tenants, events and ticket types: valid and invalid values of each.

A new field needs a line here, and no other change of tests.
"""

RIGHT_TO_LEFT = "\u200f\u05e9\u05dc\u05d5\u05dd \u202e\u05d0\u202c"
FOUR_BYTES = "🎟\U0010ffff\U0001d518"
HUGE = 10**399
EXPONENT = "<1e3>"  # written into the body as the number 1e3
NOT_TEXT = (1, 1.5, True, [], {}, ["a"], HUGE)
UNSENDABLE = ("a\0b", "\ud800", "a\udc00b", "\udc00\ud800")
NOT_INTEGER = (1.0, EXPONENT, True, False, "1", "", [], {}, HUGE, -HUGE)
EPOCH = "1970-01-01T00:00:00Z"
BAD_TIMES = (
    "",
    "now",
    "2031-06-01",
    "2031-06-01T10:00:00",
    "2031-06-01 10:00:00Z",
    "20310601T100000Z",
    "2031-06-01T10:00Z",
    "2031-06-01T10:00:00,5Z",
    "2031-06-01T10:00:00.Z",
    "1969-12-31T23:59:59Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-00:01",
    "0001-01-01T00:00:00+00:01",
    "2031-06-30T23:59:60Z",
    "2031-06-01T24:00:00Z",
    "2031-13-01T10:00:00Z",
    "2031-02-29T10:00:00Z",
    "2031-06-01T10:60:00Z",
    "2031-06-01T10:00:00+24:00",
    "2031-06-01T10:00:00+05:99",
    "1969-12-31T23:30:00-01:00",
    "1970-01-01T00:30:00+01:00",
    "2031-06-01T10:00:00+0100",
    "2031-06-01T10:00:00Z\n",
    "٢٠٣١-06-01T10:00:00Z",
    "2031-W05-1",
    1938081600,
    1.5,
    True,
    [],
    {},
    HUGE,
    "\0",
    "\ud800",
)
GOOD_TIMES = {
    "2031-06-01T10:00:00z": "2031-06-01T10:00:00Z",
    "2031-06-01t10:00:00Z": "2031-06-01T10:00:00Z",
    "2031-06-01T10:00:00+05:45": "2031-06-01T04:15:00Z",
    "2031-06-01T10:00:00-00:00": "2031-06-01T10:00:00Z",
    "2031-06-01T10:00:00.25Z": "2031-06-01T10:00:00.250000Z",
    "2031-06-01T10:00:00.123456789Z": "2031-06-01T10:00:00.123456Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
    "2032-02-29T23:30:00-23:59": "2032-03-01T23:29:00Z",
}


def text(low, high, *, good=(), bad=(), free=True, null=False):
    """Return values of a text of `low` to `high` characters. `free`: any characters are valid."""
    inside = [*("x" * length for length in {low, high} if free), *good]
    if free and high >= 20:
        inside += [RIGHT_TO_LEFT, FOUR_BYTES, " a\tb\n\x7f ", "\u0301e\u200b", "é", "e\u0301"]
    outside = [*NOT_TEXT, *UNSENDABLE, "x" * (high + 1), *bad, *([] if null else [None])]
    return inside + [None] * null, outside + [""] * (low > 0)


def integer(low, high, *, null=False):
    outside = [*NOT_INTEGER, low - 1, high + 1, 2**63, -(2**63), *([] if null else [None])]
    return [low, high] + [None] * null, outside


def choice(*values, null=False):
    wrong = [*NOT_TEXT, *UNSENDABLE, "", "gone", values[0].upper(), f"{values[0]} "]
    return [*values] + [None] * null, wrong + [None] * (not null)


def instant(*, good=(), null=False):
    return [*GOOD_TIMES, *good] + [None] * null, [*BAD_TIMES] + [None] * (not null)


SHOWN_AS_DEFAULT = {"doors_open_at", "transfers_end_at", "code"}
"""What is never shown as null: null stands for a default, as a time or a random code."""

SHOWN_IN_CAPITALS = {"code"}
"""What people type by hand, and the service reads in any case."""

BOOLEAN = [True, False], ["true", "false", "", 0, 1, 1.0, [], {}, None]
TITLE = text(1, 200, bad=(" ", "\n\t", "\u2003" * 3, "\x1c", "\x85", "\ufeff"))
SLUG = text(
    1,
    80,
    free=False,
    good=("s" * 80, "0", "a-b-9"),
    bad=("A", "a_b", "-a", "a-", "a--b", "a b", "a\n", "é", "a.b", "\u0660"),
)
SERIES = text(
    1,
    80,
    free=False,
    null=True,
    good=("r" * 80, "1", "b-a-8"),
    bad=("A", "a_b", "-a", "a-", "a--b", "a b", "a\n", "é", "a.b", "\u0660"),
)
ZONE = text(
    1,
    64,
    free=False,
    good=("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"),
    bad=("Mars/Olympus", "europe/berlin", "+02:00", "../../etc/passwd", "UTC\n", "localtime "),
)
URL = text(
    1,
    2048,
    free=False,
    null=True,
    good=("http://localhost/", "https://a.example/" + "x" * 2030, "https://[::1]:8443/a?b=c#d"),
    bad=("javascript:alert(1)", "ftp://a.example/", "//a.example", "a.example", "https://", "x"),
)
EMAIL = text(
    3,
    254,
    free=False,
    null=True,
    good=("a@b.io",),
    bad=("ada", "@example.org", "a@b@c.io", "a b@c.io"),
)
COLOR = text(
    7,
    7,
    free=False,
    null=True,
    good=("#000000", "#767676", "#1F4e79", "#0000ff", "#ff0000", "#ffffff"),
    bad=(
        "1f4e799",
        "#1f4e7g",
        "#1f4e7",
        "#1f4e79\n",
        "#\u0661f4e79",
    ),
)
TENANT = {
    "name": TITLE,
    "contact_email": EMAIL,
    "website": URL,
    "terms_url": URL,
    "privacy_url": URL,
    "legal_address": text(1, 500, bad=(" ", "\n"), null=True),
    "tax_id": text(1, 50, bad=(" ", "\n"), null=True),
    "accent_color": COLOR,
    "locale": choice("de", "en", "pl"),
    "sale_mails": choice("none", "each", "daily"),
    "early_confirmation": BOOLEAN,
    "listed": BOOLEAN,
    "second_factor_required": BOOLEAN,
    "payment_tolerance_percent": integer(0, 5),
    "payment_tolerance_most": integer(0, 5_000_000),
}
"""The settings of a tenant."""

PUBLIC_EVENT = {
    "title": TITLE,
    "slug": SLUG,
    "description": text(0, 10_000),
    "type": choice("online", "in_person", "hybrid"),
    "venue": text(0, 500, null=True),
    "start_at": instant(good=[EPOCH]),
    "end_at": instant(null=True),
    "timezone": ZONE,
    "doors_open_at": instant(null=True),
    "transfers_end_at": instant(null=True),
    "locale": choice("de", "en", "pl", null=True),
    "series": SERIES,
    "carts": BOOLEAN,
}
"""Fields of an event that everybody may read."""

EVENT = {
    **PUBLIC_EVENT,
    "online_join_url": URL,
    "visibility": choice("public", "unlisted"),
    "reminder_hours": integer(1, 168, null=True),
    "waiting_list_hours": integer(1, 72),
    "deposits_release": choice("automatic", "manual"),
    "waiting_room": choice("auto", "on", "off"),
    "capacity": integer(0, 2**53 - 1, null=True),
}
"""All fields of an event."""

PUBLIC_TICKET_TYPE = {
    "name": TITLE,
    "description": text(0, 1000, null=True),
    "group_heading": text(1, 100, bad=(" ", "\n"), null=True),
    "position": integer(0, 10**6),
    "free_price": BOOLEAN,
    "max_price_amount": integer(10**4, 10**15, null=True),
    "admission": BOOLEAN,
    "requires_ticket": BOOLEAN,
    "price_amount": integer(0, 10**15),
    "transferable": BOOLEAN,
    "allow_waitinglist": BOOLEAN,
    "chain_id": integer(1, 2**53 - 1, null=True),
    # Only without chain_id: see tests/api/test_networks.py.
    "chain_ids": ([], [None, [], [1] * 9, [1, 1], {}, "1", 1, True]),
    "min_per_order": integer(1, 100),
    "max_per_order": integer(1, 100),
    "returns": choice("none", "when_resold"),
    "return_fee_percent": integer(0, 50),
    # Not above the price of these tests.
    "deposit_amount": integer(0, 5_000_000),
    "sales_start_at": instant(good=[EPOCH], null=True),
    "sales_end_at": instant(null=True),
}
"""Fields of a ticket type that everybody may read."""

TICKET_TYPE = {
    **PUBLIC_TICKET_TYPE,
    "capacity": integer(0, 2**53 - 1, null=True),
    "requires_key": BOOLEAN,
    "require_voucher": BOOLEAN,
    "hide_without_voucher": BOOLEAN,
}
"""All fields of a ticket type."""

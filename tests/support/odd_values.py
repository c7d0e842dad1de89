"""Difficult values in JSON, and which of them a schema accepts.

The expected result comes from the OpenAPI document, not from the service's code.
"""

import json
import re
from typing import Any

from tests.support.json_schema import check

LONG = "9" * 400
NOT_JSON = {
    "NaN": b"NaN",
    "infinity": b"Infinity",
    "minus infinity": b"-Infinity",
    "leading zero": b"01",
    "leading plus": b"+1",
    "no digit before the point": b".5",
    "no digit after the point": b"1.",
    "hexadecimal": b"0x10",
    "half an exponent": b"1e",
    "a date without quotes": b"2031-06-01",
    "single quotes": b"'a'",
    "a line break in a string": b'"a\nb"',
    "a NUL byte in a string": b'"a\0b"',
    "an escape that is none": rb'"\x41"',
    "half an escape": rb'"\ud83"',
    "a byte that is not UTF-8": b'"\xff"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "above Unicode": b'"\xf4\x90\x80\x80"',
    "a BOM before it": b"\xef\xbb\xbf1",
    "Python's True": b"True",
    "undefined": b"undefined",
    "nothing": b"",
    "a comment": b"1 /* one */",
    "a trailing comma": b'["a",]',
}
"""Not a JSON value (RFC 8259): 400 at any place."""

TEXTS = {
    "NUL": "a\0b",
    "lone high surrogate": "a\ud800",
    "lone low surrogate": "\udc00a",
    "surrogates the wrong way round": "\udc00\ud83c",
    "right-to-left mark": "\u200f\u05e9\u05dc\u05d5\u05dd",
    "right-to-left override": "\u202egpj.exe",
    "isolates": "\u2067a\u2069",
    "four bytes": "🎟\U0001d518",
    "last code point": "\U0010ffff",
    "noncharacters": "\ufffe\uffff",
    "BOM within": "a\ufeffb",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "combining alone": "\u0301\u0301",
    "zero width": "\u200b\u200d",
    "controls": "a\x01\x1b[31m\x7f\x85",
    "white space": " \t\r\n\u00a0\u2028\u2003",
    "wildcards": "%_\\%",
    "quotes": "'\"`;--",
    "markup": "<script>&amp;</script>",
    "format": "%s {0} ${x} {{y}}",
    "Turkish i": "\u0130\u0131",
    "sharp s": "\u00df\ufb01",
    "other digits": "\u0661\u0662",
    "empty": "",
    "long": "x" * 12_000,
    "number": "1",
    "boolean": "true",
    "null": "null",
}
TIMES = {
    "year 0": ("0000-01-01T00:00:00Z", None),
    "year 1": ("0001-01-01T00:00:00Z", None),
    "before 1970": ("1969-12-31T23:59:59Z", None),
    "year 9999": ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    "after 9999": ("9999-12-31T23:59:59-00:01", None),
    "year 10000": ("10000-01-01T00:00:00Z", None),
    "leap second": ("2016-12-31T23:59:60Z", None),
    "24 o'clock": ("2031-06-01T24:00:00Z", None),
    "29 February": ("2032-02-29T10:00:00Z", "2032-02-29T10:00:00Z"),
    "29 February of no leap year": ("2031-02-29T10:00:00Z", None),
    "an hour that summer time skips": ("2031-03-30T02:30:00+01:00", "2031-03-30T01:30:00Z"),
    "offset of a day": ("2031-06-01T10:00:00+24:00", None),
    "offset of nowhere": ("2031-06-01T10:00:00+23:59", "2031-05-31T10:01:00Z"),
    "zone by name": ("2031-06-01T10:00:00 Europe/Berlin", None),
    "zone in brackets": ("2031-06-01T10:00:00Z[Mars/Olympus]", None),
    "no zone": ("2031-06-01T10:00:00", None),
    "nanoseconds": ("2031-06-01T10:00:00.123456789Z", "2031-06-01T10:00:00.123456Z"),
    "other digits": ("٢٠٣١-06-01T10:00:00Z", None),
    "a NUL after it": ("2031-06-01T10:00:00Z\0", None),
}
"""Moments, and how they are returned. None: rejected."""

ZONES = ("Mars/Olympus", "CET1", "UTC+25", "+25:00", "GMT+99", "posixrules", "Factory/", "/UTC")
NUMBERS = {
    "400 digits": LONG,
    "400 digits below zero": f"-{LONG}",
    "400 digits after the point": f"1.{LONG}",
    "more than 64 bits": str(2**64),
    "64 bits": str(2**63),
    "63 bits": str(2**63 - 1),
    "more than a double counts": str(2**53 + 1),
    "1.0": "1.0",
    "1e0": "1e0",
    "1e3": "1e3",
    "1E+2": "1E+2",
    "1e400": "1e400",
    "1e-400": "1e-400",
    "-0": "-0",
    "-0.0": "-0.0",
    "0": "0",
    "1": "1",
    "100": "100",
    "-1": "-1",
}
OTHERS = {"true": "true", "false": "false", "null": "null", "list": "[]", "object": "{}"}
OTHERS |= {"list of it": '["a"]', "object of it": '{"a":1}'}


def well_formed() -> dict[str, str]:
    """JSON values by name, as they are sent."""
    texts = TEXTS | {name: text for name, (text, _) in TIMES.items()}
    texts |= {f"zone {zone}": zone for zone in ZONES}
    written = {
        f"text: {name}": json.dumps(text, ensure_ascii=not is_unicode(text))
        for name, text in texts.items()
    }
    numbers = {f"number: {name}": text for name, text in NUMBERS.items()}
    return {**written, **numbers, **OTHERS}


def is_unicode(text: str) -> bool:
    return not re.search("[\ud800-\udfff]", text)


def fits(document: dict[str, Any], schema: dict[str, Any], value: Any) -> bool:
    """Return whether a schema of the document accepts a JSON value."""
    if isinstance(value, str) and not is_unicode(value):
        return False
    if isinstance(value, str) and schema.get("format") == "date-time":
        return value in {given for given, read in TIMES.values() if read}
    try:
        check(document, schema, value)
    except AssertionError:
        return False
    return True

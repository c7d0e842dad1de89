"""The checks of a request's fields. Each has a message with a code: pages have a sentence for it.

The patterns are published. They mean the same in Python and in JavaScript (ECMA-262).
"""

from collections.abc import Callable
from typing import Any

from marshmallow import ValidationError, validate

from ticketing.errors import FieldMessage

# Except for the first, only one of the two languages treats each of these as a space.
_SPACE = r"\s\u001c-\u001f\u0085\u180e\ufeff"

ALWAYS: dict[str, Any] = {
    "required": FieldMessage("required", "Missing data for required field."),
    "null": FieldMessage("null", "Field may not be null."),
}
"""The messages that all fields have."""

CHOICE = FieldMessage("choice", "Must be one of: {choices}.")


class Written(validate.Regexp):
    """Checks a text against a published pattern. `text` says what the pattern wants."""

    def __init__(self, pattern: str, code: str, text: str) -> None:
        super().__init__(pattern, error=FieldMessage(code, text))

    def __call__(self, value: Any) -> Any:
        """Match the complete text: Python's `$` ignores a final newline, JavaScript's does not."""
        if self.regex.fullmatch(value) is None:
            raise ValidationError(self.error)
        return value


class Address(Written):
    """Checks an address. The name of a wallet, such as `ada.eth`, has a message of its own."""

    def __init__(self) -> None:
        text = "Must be 0x and 40 hexadecimal characters."
        super().__init__(r"^0x[0-9a-fA-F]{40}$", "address", text)
        self._name = FieldMessage("wallet_name", f"{text} A name is not accepted.")

    def __call__(self, value: Any) -> Any:
        """Return the value. ValidationError."""
        if value.lower().endswith(".eth"):
            raise ValidationError(self._name)
        return super().__call__(value)


class Length(validate.Length):
    """Checks how many characters a text has, or how many items a list has."""

    def __init__(self, minimum: int, maximum: int, code: str = "length") -> None:
        text = "Length must be between {min} and {max}."
        super().__init__(minimum, maximum, error=FieldMessage(code, text))


class Range(validate.Range):
    """Checks a number. The bounds are allowed."""

    def __init__(self, minimum: int, maximum: int, code: str = "range") -> None:
        text = "Must be greater than or equal to {min} and less than or equal to {max}."
        super().__init__(minimum, maximum, error=FieldMessage(code, text))


class Rule(validate.Validator):
    """Checks a value with a function that returns whether it is right."""

    def __init__(self, is_right: Callable[[Any], bool], code: str, text: str) -> None:
        self.is_right = is_right
        self.error: str = FieldMessage(code, text)

    def __call__(self, value: Any) -> Any:
        """Return the value. ValidationError."""
        if not self.is_right(value):
            raise ValidationError(self.error)
        return value


NOT_BLANK = Written(
    rf"^[{_SPACE}]*[^\u0000{_SPACE}][^\u0000]*$",
    "blank",
    "Must have a character that is not a space.",
)
SLUG = Written(
    r"^[a-z0-9]+(-[a-z0-9]+)*$",
    "slug",
    "Must be lower-case letters and digits, in words joined by '-'.",
)
HTTP_URL = Written(
    rf"^[Hh][Tt][Tt][Pp][Ss]?://[^{_SPACE}]+$",
    "http_url",
    "Must begin with http:// or https:// and have no spaces.",
)
ADDRESS = Address()
TX_HASH = Written(
    r"^0x[0-9a-f]{64}$", "tx_hash", "Must be 0x and 64 hexadecimal characters in lower case."
)
UUID = Written(
    r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "uuid",
    "Must be a UUID of 32 hexadecimal digits and four hyphens.",
)
CURSOR = Written(r"^[A-Za-z0-9_-]+$", "cursor", "Must be letters, digits, hyphens and underscores.")
VISIBLE = Written("^[!-~]+$", "visible", "Must be printable ASCII without spaces.")
CODE = Written(
    r"^[A-Za-z0-9-]{5,40}$",
    "voucher_code",
    "Must be 5 to 40 letters a to z, digits and hyphens.",
)
CODE_PREFIX = Written(
    r"^[A-Za-z0-9-]{1,20}$",
    "voucher_prefix",
    "Must be 1 to 20 letters a to z, digits and hyphens.",
)

"""The languages of buyers' pages and of mails."""

LOCALES = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "it": "Italiano",
    "nl": "Nederlands",
    "pt": "Português",
    "pl": "Polski",
}
"""By code, each with its own name for itself. Messages are written in the first."""


def N_(text: str) -> str:
    """Mark a text for the catalogs where it is defined. It is translated where it is shown."""
    return text

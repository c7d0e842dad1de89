"""Small pictures beside words."""

from collections.abc import Mapping
from types import MappingProxyType

from markupsafe import Markup

_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "browser": (
            "M3 6.5A1.5 1.5 0 0 1 4.5 5h15A1.5 1.5 0 0 1 21 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-15"
            "A1.5 1.5 0 0 1 3 17.5zM3 9h18"
        ),
        "phone": (
            "M8.5 3h7A1.5 1.5 0 0 1 17 4.5v15a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 7 19.5"
            "v-15A1.5 1.5 0 0 1 8.5 3zM11 18h2"
        ),
        "exchange": "M7 8h13m-3-3 3 3-3 3M17 16H4m3-3-3 3 3 3",
        "copy": "M9 9h9.5v9.5H9zM15 9V5.5H5.5V15H9",
        "check": "m5 12.5 4.5 4.5L19 7.5",
        "clock": "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 7.5V12l3 2",
        "info": "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 11v5M12 8v.01",
        "question": (
            "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M9.7 9.7a2.3 2.3 0 1 1 3.3 2.1"
            "c-.7.4-1 .8-1 1.6M12 16v.01"
        ),
        "warning": "M12 4 21 19.5H3zM12 10v4.5M12 17v.01",
        "canceled": "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M9 9l6 6M15 9l-6 6",
        "mail": (
            "M4.5 6h15A1.5 1.5 0 0 1 21 7.5v9a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 16.5"
            "v-9A1.5 1.5 0 0 1 4.5 6M4 7.5l8 5.5 8-5.5"
        ),
        "link": (
            "M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3"
            "A4 4 0 0 0 11 18.7l1-1"
        ),
        "calendar": (
            "M5.5 5.5h13A1.5 1.5 0 0 1 20 7v11.5a1.5 1.5 0 0 1-1.5 1.5h-13"
            "A1.5 1.5 0 0 1 4 18.5V7a1.5 1.5 0 0 1 1.5-1.5M4 10h16M8.5 3.5v4M15.5 3.5v4"
        ),
        "share": "M12 15V3.5M8 7l4-3.5L16 7M7 11H5.5v9h13v-9H17",
        "paper": "M7 3.5h7l4 4v13H7zM14 3.5v4h4M12.5 10.5v6m-2.5-2.5 2.5 2.5 2.5-2.5",
        "receipt": "M6.5 3.5h7l4 4v13h-11zM9.5 11h5M9.5 14h5M9.5 17h3",
        "pin": (
            "M12 20.5s6.5-5.6 6.5-10.5a6.5 6.5 0 0 0-13 0c0 4.9 6.5 10.5 6.5 10.5M12 7.7"
            "a2.3 2.3 0 1 1 0 4.6 2.3 2.3 0 0 1 0-4.6"
        ),
        "tag": "M4 4h7.5l8.5 8.5-7.5 7.5L4 11.5zM8 8v.01",
        "ticket": (
            "M3.5 8.5v-2h17v2.2a3.3 3.3 0 0 0 0 6.6v2.2h-17v-2.2a3.3 3.3 0 0 0 0-6.6zM14 7v2"
            "m0 2v2m0 2v2"
        ),
        "screen": "M3.5 5h17v11h-17zM9 20h6M12 16v4",
        "money": "M3 7h18v10H3zM12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M6 12v.01M18 12v.01",
    }
)
"""What draws each of them, in a square of 24."""


def icon(name: str) -> Markup:
    """Return a picture for a page. Screen readers pass over it.

    A template writes `{{ "clock"|icon }}`: Jinja draws it when the template is loaded.
    """
    start = '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="'
    return Markup(f'{start}{_PATHS[name]}"/></svg>')

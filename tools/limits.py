"""Write the table of limits into README.md: `python -m tools.limits`."""

from pathlib import Path

from ticketing.limits import (
    COUNTED_IN_DATABASE,
    DEFAULT_FREE_PER_CLIENT,
    DEFAULT_ORDERS_PER_CLIENT,
    DEFAULT_RATE_LIMITS,
    DEFAULT_UNPAID_PER_ADDRESS,
    ORDERS_OF_ADDRESS,
    WIDE_FACTOR,
    CallClass,
)

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md",)
BEGIN, END = "<!-- limits: python -m tools.limits -->", "<!-- end of limits -->"

_COUNTED = {
    CallClass.PUBLIC: "address | public reads, `/readyz`, pages, files, unknown paths, OPTIONS",
    CallClass.CHECKOUT: "address | checkout without a valid client secret",
    CallClass.ORDER: f"order; its payers together have {WIDE_FACTOR} times as many,"
    f" its address {ORDERS_OF_ADDRESS} times"
    " | checkout with its client secret or its payment link",
    CallClass.PREFLIGHT: "address | preflight without a credential",
    CallClass.TOKEN: "address | sign-in, key exchange, every invalid credential",
    CallClass.LOGIN: "member or invitation, from all addresses | sign-in",
    CallClass.GUESS: "address | wrong codes of vouchers",
    CallClass.ADMIN: "credential | requests on any surface",
    CallClass.RECONCILIATION: "credential | reconciliations",
}


def table() -> str:
    """Return the limits as a Markdown table."""
    lines = ["| variable | default | for each | counts | counted in |", "|---|---|---|---|---|"]
    for each, limit in DEFAULT_RATE_LIMITS.items():
        where = "database" if each in COUNTED_IN_DATABASE else "each process"
        lines.append(
            f"| `RATE_LIMIT_{each.upper()}` | {limit} a minute | {_COUNTED[each]} | {where} |"
        )
    for name, default, counted in (
        (
            "UNPAID_PER_ADDRESS",
            f"{DEFAULT_UNPAID_PER_ADDRESS} seats",
            "address | unpaid seats",
        ),
        ("ORDERS_PER_CLIENT", f"{DEFAULT_ORDERS_PER_CLIENT} a day", "address | orders"),
        (
            "FREE_PER_CLIENT",
            f"{DEFAULT_FREE_PER_CLIENT} a day",
            "address | free seats of one event",
        ),
    ):
        lines.append(f"| `{name}` | {default} | {counted} | database |")
    lines += [
        "",
        f"0 means no limit. An address is an IPv4 address or an IPv6 /64. All /64s of"
        f" one /48 have {WIDE_FACTOR} times the limit together.",
    ]
    return "\n".join(lines)


def written(text: str) -> str:
    """Return a page with the current table. ValueError if the page has no markers."""
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:start]}\n\n{table()}\n\n{text[end:]}"


def main() -> None:
    """Write the table into each page."""
    for page in PAGES:
        page.write_text(written(page.read_text()))


if __name__ == "__main__":
    main()

"""Write the table of limits into README.md: `python -m tools.limits`."""

from pathlib import Path

from ticketing.limits import (
    COUNTED_IN_DATABASE,
    DEFAULT_FREE_PER_CLIENT,
    DEFAULT_ORDERS_PER_CLIENT,
    DEFAULT_RATE_LIMITS,
    DEFAULT_UNPAID_PER_ADDRESS,
    WIDE_FACTOR,
    CallClass,
)

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md",)
BEGIN, END = "<!-- limits: python -m tools.limits -->", "<!-- end of limits -->"

_COUNTED = {
    CallClass.PUBLIC: "an address: public reads, `/readyz`, pages, files, unknown paths, OPTIONS",
    CallClass.CHECKOUT: "an address: checkout without a valid client secret",
    CallClass.ORDER: "an order: checkout with its client secret",
    CallClass.PREFLIGHT: "an address: preflight without a credential",
    CallClass.TOKEN: "an address: sign-in, key exchange, every invalid credential",
    CallClass.LOGIN: "a member or an invitation, from all addresses: sign-in",
    CallClass.ADMIN: "a credential, on any surface",
    CallClass.RECONCILIATION: "a credential: the proof of the books",
}


def table() -> str:
    """Return the limits as a Markdown table."""
    lines = ["| variable | default | counts | where |", "|---|---|---|---|"]
    for each, limit in DEFAULT_RATE_LIMITS.items():
        where = "database" if each in COUNTED_IN_DATABASE else "each process"
        lines.append(
            f"| `RATE_LIMIT_{each.upper()}` | {limit} a minute | {_COUNTED[each]} | {where} |"
        )
    for name, default, counted in (
        (
            "UNPAID_PER_ADDRESS",
            f"{DEFAULT_UNPAID_PER_ADDRESS} seats",
            "an address: unpaid seats",
        ),
        ("ORDERS_PER_CLIENT", f"{DEFAULT_ORDERS_PER_CLIENT} a day", "an address: orders"),
        (
            "FREE_PER_CLIENT",
            f"{DEFAULT_FREE_PER_CLIENT} a day",
            "an address: free seats of one event",
        ),
    ):
        lines.append(f"| `{name}` | {default} | {counted} | database |")
    lines += [
        "",
        f"0 means no limit. An address is an IPv4 address or an IPv6 /64; an IPv6 /48 has"
        f" {WIDE_FACTOR} times the limit.",
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

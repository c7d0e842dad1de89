"""Programs for development and tests. The service imports none of them.

This file has what they share: a missing program, and something that runs until it is stopped.

run.py: `make run`: everything on this machine until Ctrl-C
stack.py, json_client.py: starts web server and worker as an operator does; a small client of them
anvil.py, postgres.py: a real node with a test token; a temporary Postgres, with a standby
solidity.py: compiles and checks the contracts; contracts/ has its packages and the test token
namespaces.py: several hosts on this machine: network namespaces
daemons.py: PgBouncer, nginx, Caddy and Redis, from packages of Debian
installer.py: unpacks programs from npm and Debian, and installs none
reaper.py: ends servers whose process was killed, so that no node and no Postgres stays behind
mail_catcher.py, receiver.py: a mail server that delivers nothing; a receiver of webhooks that
    verifies
agent.py, facilitator.py: the npm client of x402; a facilitator that pays the gas
agent_local.py, local_facilitator.py: `make agent`; starts the facilitator of a local chain
chromium.py, headless.py: a real Chromium; run without a window
screenshots.py, screenshots_states.py, screenshots_shop.py: `make screenshots`: the list of pages;
    what brings them into their states; the tenant with its orders
sample_picture.py: the picture of the demo event
collect.py, collect_networks.py, collect_files.py, collect_search.py, collect_moving.py,
    collect_sending.py: for organizers and operators: send what receivers of orders hold to their
    owner, with a file of the service or with nothing but a recovery file
collect_local.py: `make collect`: the same for the demo tenant of `make run`
payback_local.py: `make payback`: pays back what the demo tenant owes, as its wallet
translations.py: `make translations`: the catalogs of buyers' pages and mails
move.py: moves a module or a package, with everything that names it
limits.py, licenses.py: write the tables of docs/limits.md; write LICENSES.md
"""

from typing import Self

START_SECONDS = 120
"""How long a program may take to start. A busy machine needs many times what an idle one does."""


class ToolMissing(Exception):
    """A required program is missing. The message says how to install it."""


class Running:
    """Something that runs until `stop`. As a context manager, it stops at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it."""
        raise NotImplementedError


def printable(text: str) -> str:
    """Return a text of others for a terminal, without control characters except line breaks."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def error_line(said: str) -> str | None:
    """Return the line of a program's output with the error."""
    return next((line.strip() for line in said.splitlines() if "rror" in line), None)

"""An agent with a wallet: the unmodified npm client of x402, in a process of its own."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tools import installer
from tools.stack import ROOT

PINS = ROOT / "tools" / "agent"
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""The key of anvil's account 1, which has test USDC. Everybody knows it."""

_ERROR = re.compile(r"^Error: (.*)$", re.MULTILINE)


class AgentRefused(Exception):
    """The client did not pay. The message is its own."""


def buy(
    url: str,
    key: str,
    *,
    quantity: int | None = None,
    limit: str | None = None,
    assets: Sequence[Mapping[str, str]] = (),
) -> Any:
    """POST to `url` with the npm client, and return its `status`, `receipt` and `body`.

    `limit` is the client's spend limit, such as $50. `assets`: further tokens that it may spend, as
    its `allowedAssets`. AgentRefused, ToolMissing.
    """
    arguments = [url] if quantity is None else [url, str(quantity)]
    variables = {"AGENT_KEY": key}
    if limit is not None:
        variables["AGENT_SPEND_LIMIT"] = limit
    if assets:
        variables["AGENT_ASSETS"] = json.dumps(assets)
    done = subprocess.run(
        [*installer.node(), "--input-type=module", "-", *arguments],
        cwd=installer.from_npm(PINS, "agent"),
        env={**os.environ, **variables},
        input=(PINS / "buy.mjs").read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = _ERROR.search(done.stderr)
        raise AgentRefused(said[1] if said else "the client failed")
    return json.loads(done.stdout)

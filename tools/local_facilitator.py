"""Start tools/facilitator.py beside a local chain, with the packages of facilitator.txt."""

import importlib.util
import os
import re
import subprocess
import sys
from contextlib import ExitStack

from tools.stack import ROOT

GAS_KEY = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"
"""The key of anvil's account 3. Everybody knows it."""

_LISTENS = re.compile(r"http://127\.0\.0\.1:[0-9]+")


def is_installed() -> bool:
    """Return whether the packages of a facilitator are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("x402", "web3"))


def start(running: ExitStack, rpc_url: str, token: str) -> str:
    """Start it in its own process, and return its URL. RuntimeError."""
    process = running.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "tools.facilitator", "--rpc-url", rpc_url, "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "FACILITATOR_KEY": GAS_KEY, "FACILITATOR_TOKEN": token},
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    running.callback(process.terminate)
    found = _LISTENS.search(process.stdout.readline() if process.stdout else "")
    if found is None:
        raise RuntimeError("the facilitator did not start")
    return found[0]

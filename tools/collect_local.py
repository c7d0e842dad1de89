"""`make collect`: on the chain of `make run` only, send what orders of the demo tenant hold.

It does what an operator does: it writes the file of `wallet collections`, and runs tools.collect
with it. An account of the local node pays the gas.
"""

import subprocess
import sys

from dotenv import dotenv_values

from tools import collect
from tools.run import ENV_FILE, TENANT, VAR
from tools.stack import ROOT

LOCAL_CHAIN_ID = "31337"
COLLECTIONS_FILE = VAR / "collections.json"
KEY_FILE = VAR / "gas.key"
GAS_KEY = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""Of the last of anvil's accounts, as everybody knows. It is worth nothing on another chain."""


def main() -> None:
    """Collect, or exit with the reason."""
    rpc_url = dotenv_values(ENV_FILE).get("RPC_URL_31337")
    if rpc_url is None:
        sys.exit("make collect: run 'make run' first, in another terminal")
    KEY_FILE.touch(mode=0o600)
    KEY_FILE.write_text(GAS_KEY)
    written = ["--chain-id", LOCAL_CHAIN_ID, "--output", str(COLLECTIONS_FILE)]
    command = [sys.executable, "-m", "flask", "--app", "app", "wallet", "collections", TENANT]
    if subprocess.run([*command, *written], cwd=ROOT, check=False).returncode != 0:
        sys.exit("make collect: is 'make run' running, and has the demo tenant a wallet?")
    # The file is of the local chain, and tools.collect refuses a node of another one.
    collect.main([str(COLLECTIONS_FILE), "--rpc", rpc_url, "--key-file", str(KEY_FILE)])


if __name__ == "__main__":
    main()

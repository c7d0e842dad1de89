"""`make collect`: on the chains of `make run` only, send what orders of the demo tenant hold.

It does what an operator does: it writes the file of `wallet collections`, and runs tools.collect
with it. An account of the local nodes pays the gas.

Exit code 0: all is collected. 3: something is left, and the output says what. 1: an error.
"""

import subprocess
import sys

from dotenv import dotenv_values

from tools import anvil, collect, collect_networks
from tools.run import ENV_FILE, TENANT, VAR
from tools.stack import ROOT

COLLECTIONS_FILE = VAR / "collections.json"
KEY_FILE = VAR / "gas.key"
GAS_KEY = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
"""Of the last of anvil's accounts, as everybody knows. It is worth nothing on another chain."""


def main() -> None:
    """Collect, or exit with the reason."""
    settings = dotenv_values(ENV_FILE)
    rpc_urls = {chain_id: settings.get(f"RPC_URL_{chain_id}") for chain_id in anvil.CHAIN_IDS}
    if not all(rpc_urls.values()):
        sys.exit("make collect: run 'make run' first, in another terminal")
    KEY_FILE.touch(mode=0o600)
    KEY_FILE.write_text(GAS_KEY)
    are_complete = [_collect(chain_id, str(url)) for chain_id, url in rpc_urls.items()]
    if not all(are_complete):
        sys.exit(collect_networks.SOMETHING_LEFT)


def _collect(chain_id: int, rpc_url: str) -> bool:
    """Collect what orders hold on one chain. Return whether nothing is left."""
    written = ["--chain-id", str(chain_id), "--output", str(COLLECTIONS_FILE)]
    command = [sys.executable, "-m", "flask", "--app", "app", "wallet", "collections", TENANT]
    if subprocess.run([*command, *written], cwd=ROOT, check=False).returncode != 0:
        sys.exit("make collect: is 'make run' running, and has the demo tenant a wallet?")
    try:
        # The file is of the local chain, and tools.collect refuses a node of another one.
        collect.main([str(COLLECTIONS_FILE), "--rpc", rpc_url, "--key-file", str(KEY_FILE)])
    except SystemExit as ended:
        if ended.code != collect_networks.SOMETHING_LEFT:
            raise
        return False
    return True


if __name__ == "__main__":
    main()

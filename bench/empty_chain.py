"""A fake node with a long and empty chain. Anvil would need too long to mine it.

`python -m bench.empty_chain FIRST_TIME` listens on a free port, which it prints.
"""

import hashlib
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

from ticketing.chain.keccak import keccak256
from ticketing.chain.registry import LOCAL_CHAIN_ID
from tools import Running
from tools.stack import ROOT

BLOCK_SECONDS = 2
_DECIMALS = "0x" + keccak256(b"decimals()")[:4].hex()
_SYMBOL = "0x" + keccak256(b"symbol()")[:4].hex()


class EmptyChain(Running):
    """Runs the fake node in its own process, at block 0. A context manager."""

    def __init__(self, first_time: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.empty_chain", str(first_time)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"

    def stop(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.communicate()

    def mine(self, blocks: int) -> None:
        """Add blocks."""
        question = {"id": 0, "method": "mine", "params": [blocks]}
        urllib3.request("POST", self.url, json=question)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    head = 0
    first_time = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = (
            [self._answer(each) for each in asked] if type(asked) is list else self._answer(asked)
        )
        body = json.dumps(answers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        result = getattr(self, f"_{question['method']}")(*question["params"])
        return {"jsonrpc": "2.0", "id": question["id"], "result": result}

    def _mine(self, blocks: int) -> None:
        _Handler.head += blocks

    def _eth_chainId(self) -> str:
        return hex(LOCAL_CHAIN_ID)

    def _eth_getCode(self, of: str, tag: str) -> str:
        return "0x"

    def _eth_call(self, call: dict[str, str], tag: str) -> str:
        if call["data"] == _DECIMALS:
            return f"0x{6:064x}"
        if call["data"] == _SYMBOL:
            return f"0x{32:064x}{4:064x}" + b"USDC".hex().ljust(64, "0")
        return f"0x{0:064x}"

    def _eth_getTransactionCount(self, of: str, tag: str) -> str:
        return "0x0"

    def _eth_getLogs(self, log_filter: dict[str, Any]) -> list[Any]:
        return []

    def _eth_getBlockByNumber(self, tag: str, full: bool) -> dict[str, str] | None:
        number = self.head if tag == "latest" else int(tag, 16)
        if number > self.head:
            return None
        return {
            "number": hex(number),
            "hash": _hash(number),
            "parentHash": _hash(number - 1),
            "timestamp": hex(self.first_time + number * BLOCK_SECONDS),
        }


def _hash(number: int) -> str:
    return "0x" + hashlib.sha256(str(number).encode()).hexdigest()


def main() -> None:
    """Listen until the process is stopped."""
    _Handler.first_time = int(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

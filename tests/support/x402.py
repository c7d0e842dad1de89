"""An x402 agent with a wallet, written by hand, and a facilitator that misbehaves on request."""

import base64
import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eth_account import Account

from ticketing.chain.registry import REGISTRY
from tools import Running, anvil

BUYER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""The key of anvil.BUYER, from anvil's public mnemonic."""

BASE_SEPOLIA = 84532
USDC = REGISTRY[BASE_SEPOLIA].token_address

TOKEN = "facilitator-token-0123456789"
RELAYER = 3
"""The node's account that submits."""

_FIELDS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
_KINDS = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
_TYPE = [{"name": name, "type": kind} for name, kind in zip(_FIELDS, _KINDS, strict=True)]
_SUBMIT = "0xe3ee160e"
"""transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"""


def put_usdc(node: anvil.Anvil, token: str = USDC) -> None:
    """Put the test token where a real chain has USDC, and give tokens to the buyer."""
    code = node.rpc("eth_getCode", anvil.deploy_token(node.rpc), "latest")
    node.rpc("anvil_setCode", token, code)
    anvil.mint(node.rpc, token, anvil.BUYER, anvil.BUYER_TOKENS)


def encoded(message: Any) -> str:
    return base64.b64encode(json.dumps(message).encode()).decode()


def decoded(header: str) -> Any:
    return json.loads(base64.b64decode(header))


def required(answer: Any) -> Any:
    """What a 402 asks for."""
    return decoded(answer.headers["PAYMENT-REQUIRED"])


def calldata(payload: Any) -> str:
    """The call that submits a signed transfer. Anybody can read it on the chain."""
    signed, signature = payload["authorization"], payload["signature"][2:]
    words = [
        *(signed[name][2:].lower().rjust(64, "0") for name in ("from", "to")),
        *(f"{int(signed[name]):064x}" for name in ("value", "validAfter", "validBefore")),
        signed["nonce"][2:],
        signature[128:].rjust(64, "0"),
        signature[:64],
        signature[64:128],
    ]
    return _SUBMIT + "".join(words)


@dataclass
class Wallet:
    """A wallet that signs what an x402 server requires."""

    key: str = BUYER_KEY
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return str(Account.from_key(self.key).address)

    def payment(self, asked: Any, chain_id: int | None = None, **changes: Any) -> dict[str, Any]:
        """The content of PAYMENT-SIGNATURE for requirements. `changes` are of the signed fields.

        It pays on the network of `chain_id`, by default the first one.
        """
        accepted = next(
            each
            for each in asked["accepts"]
            if chain_id is None or each["network"] == f"eip155:{chain_id}"
        )
        message = {
            "from": self.address,
            "to": accepted["payTo"],
            "value": int(accepted["amount"]),
            "validAfter": 0,
            "validBefore": int(time.time()) + accepted["maxTimeoutSeconds"],
            "nonce": "0x" + secrets.token_hex(32),
            **changes,
        }
        domain = {
            "name": accepted["extra"]["name"],
            "version": accepted["extra"]["version"],
            "chainId": int(accepted["network"].partition(":")[2]),
            "verifyingContract": accepted["asset"],
        }
        types = {"TransferWithAuthorization": _TYPE}
        signature = Account.sign_typed_data(self.key, domain, types, message).signature
        texts = {name: str(message[name]) for name in _FIELDS}
        return {
            "x402Version": 2,
            "resource": asked["resource"],
            "accepted": accepted,
            "payload": {"signature": "0x" + signature.hex(), "authorization": texts},
        }

    def header(self, asked: Any, chain_id: int | None = None, **changes: Any) -> dict[str, str]:
        return {"PAYMENT-SIGNATURE": encoded(self.payment(asked, chain_id, **changes))}


class Facilitator(Running):
    """A facilitator over HTTP that does what its `mode` says, and keeps what it was sent.

    submit; submit, then hang; submit, then pending; submit, then refuse; submit, then fail;
    hang; lie (success without a transaction); refuse; pending; fail (500); garbage
    """

    def __init__(self, node: anvil.Anvil | None = None) -> None:
        self.mode, self.node = "submit", node
        self.offers: int | list[str] = ["eip155:*"]
        self.moved_to, self.moves = "", 0
        """Where a redirect points, and how many requests are redirected next."""
        self.asked: list[Any] = []
        self.authorized: list[str | None] = []
        self._going = threading.Event()
        facilitator = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                if facilitator.moves and self.path != facilitator.moved_to:
                    facilitator.moves -= 1
                    self._redirect()
                    return
                facilitator.authorized.append(self.headers.get("Authorization"))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = facilitator.act(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def _redirect(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(308)
                self.send_header("Location", facilitator.moved_to)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                if facilitator.moves and self.path != facilitator.moved_to:
                    facilitator.moves -= 1
                    self._redirect()
                    return
                facilitator.authorized.append(self.headers.get("Authorization"))
                status, answer = facilitator.supported()
                if 300 <= status < 400:
                    self._redirect()
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def supported(self) -> tuple[int, bytes]:
        """What it says of itself. `offers`: a status, or networks of version 2."""
        if isinstance(self.offers, int):
            return self.offers, b"{}"
        kinds = [{"x402Version": 2, "scheme": "exact", "network": each} for each in self.offers]
        old = {"x402Version": 1, "scheme": "exact", "network": "base"}
        return 200, json.dumps({"kinds": [old, *kinds], "extensions": []}).encode()

    def act(self, request: Any) -> tuple[int, bytes]:
        self.asked.append(request)
        mode, tx_hash = self.mode, ""
        if mode.startswith("submit"):
            tx_hash = self.submit(request["paymentPayload"]["payload"])
            mode = mode.partition(", then ")[2] or "success"
        if mode == "hang":
            self._going.wait()
        if mode in ("fail", "hang"):
            return 500, b""
        if mode == "garbage":
            return 200, b"[" * 30_000
        answers: dict[str, dict[str, Any]] = {
            "success": {"success": True, "transaction": tx_hash},
            "lie": {"success": True, "transaction": "0x" + "ab" * 32},
            "refuse": {"success": False, "errorReason": "insufficient_funds", "transaction": ""},
            "pending": {"success": False, "errorReason": "settlement_pending"},
        }
        return 200, json.dumps({"network": "eip155:31337", **answers[mode]}).encode()

    def submit(self, payload: Any) -> str:
        assert self.node is not None
        call = {"to": anvil.TOKEN_ADDRESS, "data": calldata(payload)}
        return str(anvil.send(self.node.rpc, RELAYER, call)["transactionHash"])

    def wake(self) -> None:
        """Answer the requests that hang."""
        self._going.set()
        self._going = threading.Event()

    def stop(self) -> None:
        self.wake()
        self._server.shutdown()
        self._server.server_close()

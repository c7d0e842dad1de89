"""An x402 facilitator for one chain: it submits signed transfers, and pays their gas.

FACILITATOR_KEY=0x... FACILITATOR_TOKEN=... python -m tools.facilitator --rpc-url URL --port 8402

It listens on 127.0.0.1. Its key needs gas only. Run it as another user than the service, so that
nobody who reads the service's memory or files has the key. Install tools/facilitator.txt for it.
"""

import argparse
import hmac
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import BaseModel, ValidationError
from x402 import x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.schemas.responses import SettleRequest

MAX_BODY_BYTES = 64 * 1024
READ_SECONDS = 10
RECEIPT_SECONDS = 10
"""The service waits for 15 seconds. After that, the answer is `settlement_pending`."""


def server(rpc_url: str, key: str, token: str, port: int) -> ThreadingHTTPServer:
    """Return a server that settles with this key for callers with the bearer token."""
    signer = FacilitatorWeb3Signer(key, rpc_url, confirmation_timeout_seconds=RECEIPT_SECONDS)
    facilitator = x402FacilitatorSync()
    network = f"eip155:{signer.get_chain_id()}"
    # The simulation keeps transfers that would fail from costing gas.
    register_exact_evm_facilitator(facilitator, signer, network, simulate_in_settle=True)
    expected = f"Bearer {token}".encode()

    class Handler(BaseHTTPRequestHandler):
        timeout = READ_SECONDS

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            if self.command != "GET":  # each service asks every few minutes
                super().log_request(code, size)

        def do_GET(self) -> None:
            if not self._is_caller():
                self.send_error(401)
            elif self.path != "/supported":
                self.send_error(404)
            else:
                self._send(facilitator.get_supported())

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self._is_caller():
                self.send_error(401)
            elif self.path != "/settle" or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                self.send_error(400)
            else:
                self._settle(self.rfile.read(int(length)))

        def _settle(self, body: bytes) -> None:
            try:
                asked = SettleRequest.model_validate_json(body)
            except ValidationError:
                self.send_error(400)
                return
            self._send(facilitator.settle(asked.payment_payload, asked.payment_requirements))

        def _is_caller(self) -> bool:
            sent = self.headers.get("Authorization", "").encode()
            return hmac.compare_digest(sent, expected)

        def _send(self, said: BaseModel) -> None:
            answer = json.dumps(said.model_dump(by_alias=True, exclude_none=True)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Run until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description="An x402 facilitator for one chain.")
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--port", type=int, default=8402)
    chosen = parser.parse_args()
    key, token = (os.environ.get(f"FACILITATOR_{name}", "") for name in ("KEY", "TOKEN"))
    if not key or not token:
        sys.exit("set FACILITATOR_KEY and FACILITATOR_TOKEN")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with server(chosen.rpc_url, key, token, chosen.port) as serving:
        print(f"settling at http://127.0.0.1:{serving.server_port}", flush=True)
        serving.serve_forever()


if __name__ == "__main__":
    main()

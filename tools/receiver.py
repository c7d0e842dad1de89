"""A receiver of webhooks: it verifies each one, and prints what it verified.

python -m tools.receiver --port 8026 --secret whsec_...
"""

import argparse
import json
import signal
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from tools import Running, printable

MAX_BODY_BYTES = 1024 * 1024
READ_SECONDS = 10


class Receiver(Running):
    """A web server on 127.0.0.1, in threads of this process.

    Set `secret` before the first webhook. A verified webhook is put into `verified`, and is passed
    to `say` as text.
    """

    def __init__(self, port: int, say: Callable[[str], None], secret: str = "") -> None:
        self.secret = secret
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            timeout = READ_SECONDS

            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                    self.send_error(413)
                    return
                body = self.rfile.read(int(length))
                accepted = receiver.take(body, dict(self.headers))
                self.send_response(204 if accepted else 400)
                self.end_headers()

            def log_message(self, format: str, *values: Any) -> None:
                """Print nothing."""

        self._say = say
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def take(self, body: bytes, headers: dict[str, str]) -> bool:
        """Verify a webhook. Return whether it is accepted."""
        try:
            webhook = Webhook(self.secret).verify(body, headers)
        except (WebhookVerificationError, ValueError, RuntimeError) as error:
            self._say(printable(f"webhook refused: {error}"))
            return False
        data = json.dumps(webhook["data"])
        self._say(printable(f"webhook verified: {webhook['type']} {data}"))
        return True

    def stop(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def main() -> None:
    """Receive webhooks until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tools.receiver", description=__doc__)
    parser.add_argument("--port", type=int, default=8026)
    parser.add_argument("--secret", required=True, help="the endpoint's secret: whsec_...")
    arguments = parser.parse_args()
    stops = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    with Receiver(
        arguments.port, lambda text: print(text, flush=True), arguments.secret
    ) as receiver:
        print(f"receiving webhooks at {receiver.url}", flush=True)
        signal.sigwait(stops)


if __name__ == "__main__":
    main()

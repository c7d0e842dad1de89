"""A receiver of webhooks.

    python -m tests.support.webhook_receiver_process FOLDER PORT [CERTIFICATE KEY]

It verifies each request with the package standardwebhooks, and appends a line of JSON to the file
`log` in FOLDER. The file `rules` says what it answers: see tests/support/webhook_receivers.py.
"""

import json
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

FOLDER = Path(sys.argv[1])
LOG = (FOLDER / "log").open("a", buffering=1)
WRITING = Lock()
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class Handler(BaseHTTPRequestHandler):
    """Answers as the rules say."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        rules = json.loads((FOLDER / "rules").read_text())
        rule = {**rules.get(self.path, {})}
        sent = json.loads(body)
        for each in rule.pop("by_type", []):
            if sent["type"] == each["type"]:
                rule |= each
        status = rule.get("status", 204)
        with WRITING:
            LOG.write(json.dumps(self.line(body, sent, rule, status)) + "\n")
        while rule.get("is_held") and not (FOLDER / "open").exists():
            time.sleep(0.01)
        text = rule.get("text", "").encode()
        self.send_response(status)
        for name, value in rule.get("headers", {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def line(self, body, sent, rule, status):
        try:
            headers = {name: self.headers[name] for name in HEADERS}
            Webhook(rule["secret"]).verify(body, headers)
            is_verified = True
        except WebhookVerificationError:
            is_verified = False
        return {
            "path": self.path,
            "id": self.headers["webhook-id"],
            "type": sent["type"],
            "sequence": sent["data"]["sequence"],
            "body": sent,
            "headers": dict(self.headers.items()),
            "verified": is_verified,
            "status": status,
            "from": self.client_address[1],
            "at": time.time(),
        }

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Many connections at the same time."""

    request_queue_size = 512
    daemon_threads = True


def main():
    server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
    if sys.argv[3:]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[3:])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

"""An app that a member connects: it registers, sends the member to the page, and gets tokens."""

import base64
import hashlib
import json
import re
import ssl
import threading
from dataclasses import dataclass, field
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.console import Console, hidden_fields
from tests.support.factories import Api
from tests.support.mcp import message
from ticketing.worker import description_reader

CALLBACK = "https://assistant.example/callback"
ISSUER = "http://localhost"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:43]


@dataclass
class App:
    """An app with an id. `tokens` has its last token answer."""

    client: FlaskClient
    client_id: str
    redirect_uri: str = CALLBACK
    tokens: dict[str, Any] = field(default_factory=dict)

    def page(self, console: Console, **parameters: str | None) -> TestResponse:
        """Send the member to the page. If it waits for the worker, that reads, and they look again.

        None as a parameter: it is left out.
        """
        path = f"/console/connect?{urlencode(self.asks(**parameters))}"
        answer = console.get(path)
        if answer.status_code == 202:
            description_reader.read_some(self.client.application.extensions["ticketing"])
            answer = console.get(path)
        return answer

    def asks(self, **parameters: str | None) -> dict[str, str]:
        """Return the parameters of an authorization request. None: it is left out."""
        usual = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "a state",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        return {name: text for name, text in {**usual, **parameters}.items() if text is not None}

    def decide(
        self, console: Console, role: str, consent: str = "connect", **parameters: str
    ) -> dict[str, str]:
        """Send the member to the page, who answers it. Return what the app gets."""
        page = self.page(console, **parameters)
        assert page.status_code == 200, page.text
        form = {**hidden_fields(page.text), "consent": consent, "role": role}
        return sent_back(console.send("/console/connect", form), self.redirect_uri)

    def exchange(self, code: str, **form: str) -> TestResponse:
        """Exchange a code for tokens."""
        usual = {"code": code, "redirect_uri": self.redirect_uri, "code_verifier": VERIFIER}
        return self.token_request("authorization_code", **{**usual, **form})

    def renew(self, refresh_token: str | None = None, **form: str) -> TestResponse:
        """Exchange a refresh token, the last one if none is given, for new tokens."""
        token = refresh_token or self.tokens["refresh_token"]
        return self.token_request("refresh_token", refresh_token=token, **form)

    def token_request(self, grant_type: str, **form: str) -> TestResponse:
        """Send a token request."""
        usual = {"grant_type": grant_type, "client_id": self.client_id}
        answer = self.client.post("/v1/oauth/token", data={**usual, **form})
        if answer.status_code == 200:
            self.tokens = answer.json
        return answer

    def connect(self, console: Console, role: str, **parameters: str) -> Api:
        """Get tokens in the name of a member. Return an API client with the access token."""
        code = self.decide(console, role, **parameters)["code"]
        answer = self.exchange(code)
        assert answer.status_code == 200, answer.text
        return self.api()

    def api(self) -> Api:
        """Return an API client with the access token."""
        return Api(self.client, {"Authorization": f"Bearer {self.tokens['access_token']}"})


def registered(client: FlaskClient, name: str = "Assistant", uri: str = CALLBACK) -> App:
    """Return an app that has registered itself."""
    answer = client.post("/v1/oauth/register", json={"client_name": name, "redirect_uris": [uri]})
    assert answer.status_code == 201, answer.text
    return App(client, answer.json["client_id"], uri)


def sent_back(answer: TestResponse, redirect_uri: str = CALLBACK) -> dict[str, str]:
    """Return the parameters with which a member is sent back to an app."""
    assert answer.status_code == 303, answer.text
    return _parameters(answer.headers["Location"], redirect_uri)


def offered_back(answer: TestResponse, redirect_uri: str = CALLBACK) -> dict[str, str]:
    """Return the parameters of the link back to an app, on the page of its error."""
    assert answer.status_code == 400, answer.text
    links = re.findall(r'<a href="([^"]+)" rel="noreferrer">Back to ', answer.text)
    assert len(links) == 1, answer.text
    return _parameters(unescape(links[0]), redirect_uri)


def _parameters(location: str, redirect_uri: str) -> dict[str, str]:
    uri, _, query = location.partition("?")
    assert uri == redirect_uri
    return {name: values[0] for name, values in parse_qs(query).items()}


def is_refused(answer: TestResponse, error: str = "invalid_grant") -> bool:
    """Return whether a token request is refused with an error."""
    return answer.status_code == 400 and answer.json["error"] == error


def has_ended(app: App) -> bool:
    """Return whether none of an app's tokens opens anything."""
    answer = app.api().post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert answer.status_code in (200, 401)
    return answer.status_code == 401 and is_refused(app.renew())


def tool_names(api: Api, path: str = "/mcp/organizer") -> set[str]:
    """Return the names of the tools that a caller sees."""
    answer = api.post(path, message("tools/list"))
    assert answer.status_code == 200, answer.text
    return {tool["name"] for tool in answer.json["result"]["tools"]}


def metadata_url(answer: TestResponse) -> str:
    """Return the path that a 401 names in its challenge."""
    named = re.search(r'resource_metadata="([^"]+)"', answer.headers["WWW-Authenticate"])
    assert named is not None
    url = urlsplit(named[1])
    assert f"{url.scheme}://{url.netloc}" == ISSUER
    return url.path


class Documents:
    """A server over TLS with descriptions of apps, by their path. A context manager."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.files: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self.content_type = "application/json; charset=utf-8"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"https://localhost:{self._server.server_address[1]}{path}"

    def describe(self, path: str = "/app.json", **more: Any) -> str:
        """Serve the description of an app. Return its URL, which is the app's id."""
        url = self.url(path)
        usual = {"client_id": url, "client_name": "Assistant", "redirect_uris": [CALLBACK]}
        self.files[path] = 200, json.dumps({**usual, **more}).encode()
        return url

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        documents = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                documents.asked.append(self.path)
                status, body = documents.files.get(self.path, (404, b""))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", documents.url("/app.json"))
                self.send_header("Content-Type", documents.content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

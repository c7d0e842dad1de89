"""Headers with difficult bytes, at each endpoint that reads them."""

import pytest

from tests.support.routes import endpoints, same

STRANGE_TAGS = ("\xff", '"', '"\xff"', "W/", ",", '"' * 99, "a" * 4000, '"\0"', "\ud7ff\u200f")
STRANGE_KEYS = ("", '""', "\xff" * 40, "k" * 300, "a\tb" * 20, "\x7f" * 40, "é" * 40)


def test_odd_bytes_in_if_none_match_match_nothing(app, acme, here):
    for endpoint in endpoints(app, "/v1/public/"):
        path = endpoint.path(**here)
        plain = app.test_client().open(path, method=endpoint.method)
        for strange in STRANGE_TAGS:
            answer = app.test_client().open(
                path, method=endpoint.method, environ_overrides={"HTTP_IF_NONE_MATCH": strange}
            )
            assert same(answer) == same(plain) and plain.status_code == 200, strange


@pytest.mark.exhaustive
def test_odd_bytes_in_an_idempotency_key_are_refused_wherever_one_is_taken(app, acme, here):
    document = app.test_client().get("/openapi.json").json
    tried = 0
    for path, item in document["paths"].items():
        if path.endswith(("/refund-address", "/billing", "/email")):
            continue  # an API key does not open it
        operation = item.get("post", {})
        if "Idempotency-Key" not in {each["name"] for each in operation.get("parameters", ())}:
            continue
        content = operation.get("requestBody", {}).get("content", {})
        body = content["application/json"]["example"] if content else {}
        for strange in STRANGE_KEYS:
            headers = {"X-API-Key": acme.admin_key}
            environ = {"HTTP_IDEMPOTENCY_KEY": strange}
            answer = app.test_client().post(
                path.format(**here), json=body, headers=headers, environ_overrides=environ
            )
            assert answer.status_code == 422, (path, strange, answer.text)
            assert answer.json["errors"].keys() == {"Idempotency-Key"}
            tried += 1
    assert tried >= 7 * len(STRANGE_KEYS)

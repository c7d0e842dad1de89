"""A facilitator that wants a signed token for each request. Another library checks the tokens."""

import base64
import json
import time

import pytest
from Crypto.Hash import SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS, eddsa

from tests.support.databases import only_once
from tests.support.factories import worker_once
from tests.support.x402 import required
from ticketing.chain import facilitator_key

KEY_ID = "organizations/0/apiKeys/1"


def of_ed25519():
    """A new key: its secret as a console shows it, and the public key."""
    made = ECC.generate(curve="ed25519")
    public = made.public_key().export_key(format="raw")
    return base64.b64encode(made.seed + public).decode(), made.public_key()


def of_p256():
    """As on one line: a variable has no others."""
    made = ECC.generate(curve="p256")
    pem = made.export_key(format="PEM", use_pkcs8=False)
    return pem.replace("\n", "\\n"), made.public_key()


KINDS = {"EdDSA": of_ed25519, "ES256": of_p256}


def part(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def claims_of(bearer, public, kind):
    """Check a token, and return its header and claims."""
    header, claims, signature = bearer.split(".")
    signed = f"{header}.{claims}".encode()
    if kind == "EdDSA":
        eddsa.new(public, "rfc8032").verify(signed, part(signature))
    else:
        DSS.new(public, "fips-186-3").verify(SHA256.new(signed), part(signature))
    return json.loads(part(header)), json.loads(part(claims))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def key(kind):
    return KINDS[kind]()


@pytest.fixture
def environ(environ, key):
    return {
        **environ,
        "X402_FACILITATOR_KEY_ID_31337": KEY_ID,
        "X402_FACILITATOR_KEY_SECRET_31337": key[0],
    }


@pytest.fixture
def facilitator(facilitator, environ):
    del environ["X402_FACILITATOR_TOKEN_31337"]
    return facilitator


@only_once
def test_each_request_has_a_token_of_its_own(app, api, path, wallet, facilitator, key, kind):
    assert api.post(path, headers=wallet.header(required(api.post(path)))).status_code == 200
    worker_once(app)
    host = facilitator.url.removeprefix("http://")
    found = []
    for sent in facilitator.authorized:
        header, claims = claims_of(sent.removeprefix("Bearer "), key[1], kind)
        assert header["alg"] == kind and header["kid"] == KEY_ID
        assert (claims["iss"], claims["sub"]) == ("cdp", KEY_ID)
        assert claims["nbf"] <= time.time() < claims["exp"] <= time.time() + 120
        found.append((header["nonce"], *claims["uris"]))
    assert {uri for _, uri in found} == {f"GET {host}/supported", f"POST {host}/settle"}
    assert len({nonce for nonce, _ in found}) == len(found)


def test_neither_the_id_nor_the_secret_is_shown(key):
    assert repr(facilitator_key.parse(KEY_ID, key[0])) == "FacilitatorKey()"


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "not base64!",
        base64.b64encode(b"x" * 63).decode(),
        base64.b64encode(b"x" * 64).decode(),
        "-----BEGIN EC PRIVATE KEY-----",
        ECC.generate(curve="p384").export_key(format="PEM", use_pkcs8=False),
    ],
)
def test_what_is_no_key_is_refused(secret):
    with pytest.raises(ValueError, match=r"key|base64|PEM"):
        facilitator_key.parse(KEY_ID, secret)

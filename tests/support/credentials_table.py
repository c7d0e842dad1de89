"""Credentials of every kind, valid and invalid, with the headers that carry them."""

import warnings
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple

import jwt

from tests.conftest import SECRET_KEY
from tests.support.factories import Api, Organizer, cli
from ticketing import credentials, ids
from ticketing.models.api_keys import ApiKey
from ticketing.roles import LADDER, Role

CLAIMS = {"iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"}
PASSWORD = "correct horse battery staple"
OTHER_SECRET = "not-the-secret-key-0123456789abcdefghijklmnopqrstuvw"
METRICS_TOKEN = "metrics-0123456789abcdef"
Headers = dict[str, dict[str, str]]
"""The headers of credentials of one kind, by their names."""


class Kind(Enum):
    """The kinds of credentials of a tenant's endpoints, besides its roles."""

    NONE = "nothing that anybody looks at"
    SCHEME = "an Authorization header of another scheme"
    BEARER = "a bearer token that is no JWT: it may have been meant as a client secret"
    BAD = "meant as a key or a JWT, and not good"
    NEIGHBOUR = "another tenant's"
    METRICS = "the token that opens the metrics, and nothing else"


class Credential(NamedTuple):
    """A credential: its name, its kind or role, and its headers."""

    name: str
    kind: Kind | Role
    headers: dict[str, str]


def every_credential(organizer: Organizer, neighbour: Organizer) -> list[Credential]:
    """Return one of each kind, from the view of `organizer`'s endpoints."""
    of_kinds: list[tuple[Kind | Role, Headers]] = [
        (Kind.NONE, {"none": {}}),
        (Kind.SCHEME, _schemes(organizer)),
        (Kind.BEARER, _bearers(organizer)),
        (Kind.BAD, _bad_keys(organizer) | _forged(organizer, neighbour)),
        (Kind.NEIGHBOUR, _of_neighbour(neighbour)),
        (Kind.METRICS, {"metrics token": bearer(METRICS_TOKEN)}),
        *((role, _good(organizer, role)) for role in Role),
    ]
    return [
        Credential(name, kind, headers)
        for kind, named in of_kinds
        for name, headers in named.items()
    ]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def exchange(organizer: Organizer, key: str) -> str:
    """Return the JWT for a key."""
    answer = Api(organizer.app.test_client()).post("/v1/auth/token", {"api_key": key})
    token: str = answer.json["access_token"]
    return token


def both_ways(organizer: Organizer, key: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers of a JWT made from a key, and those of the key itself."""
    return bearer(exchange(organizer, key)), {"X-API-Key": key}


def new_key(organizer: Organizer, **fields: Any) -> tuple[str, str]:
    """Return the id and the plaintext of a new admin key."""
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    made = owner.post(f"{organizer.path}/apikeys", {"name": "x", "role": "admin", **fields})
    return made.json["id"], made.json["key"]


def member(organizer: Organizer, email: str, role: str) -> str:
    """Return the JWT of a new member."""
    arguments = ("members", "add", organizer.slug, email, "--role", role, "--password-stdin")
    cli(organizer.app, *arguments, stdin=PASSWORD)
    body = {"tenant": organizer.slug, "email": email, "password": PASSWORD}
    answer = Api(organizer.app.test_client()).post("/v1/auth/login", body)
    token: str = answer.json["access_token"]
    return token


def ended_keys(organizer: Organizer) -> dict[str, tuple[str, str]]:
    """Return keys that have ended, each with a JWT that was made from it before."""
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    found = {}
    for name, end, body in (
        ("expired", "", None),
        ("revoked", "revoke", None),
        ("rotated away", "rotate", {"overlap_seconds": 0}),
    ):
        key_id, key = new_key(organizer)
        found[name] = key, exchange(organizer, key)
        if end:
            ended = owner.post(f"{organizer.path}/apikeys/{key_id}/{end}", body)
            assert ended.status_code == 200
        else:
            past = datetime.now(UTC) - timedelta(seconds=1)
            ApiKey.update(expires_at=past).where(ApiKey.id == key_id).execute()
    return found


def wrong_secret(key: str) -> str:
    """Return a well-formed key with the id of `key` and a wrong secret."""
    return credentials.new_api_key(credentials.api_key_id(key) or "")


def _schemes(organizer: Organizer) -> Headers:
    texts = {
        "basic": "Basic YWRtaW46YWRtaW4=",
        "basic, not ASCII": "Basic \xff",
        "scheme, not ASCII": "\xff \xff",
        "JWT without its scheme": exchange(organizer, organizer.admin_key),
    }
    return {name: {"Authorization": text} for name, text in texts.items()}


def _bearers(organizer: Organizer) -> Headers:
    key = {"X-API-Key": organizer.admin_key}
    found = {
        "empty": bearer(""),
        "garbage": bearer("garbage"),
        "not ASCII": bearer("\xff\xfe"),
        "like parameters": bearer('a="b"'),
        "key as bearer": bearer(organizer.admin_key),
        "of two parts": bearer("a.b"),
    }
    return found | {f"{name}, before a good key": sent | key for name, sent in found.items()}


def _bad_keys(organizer: Organizer) -> Headers:
    key = organizer.admin_key
    texts = {
        "empty": "",
        "garbage": "\xe9garbage" * 50,
        "with a typo": key[:-1] + ("0" if key[-1] != "0" else "1"),
        "in capitals": key.upper(),
        "sent twice": f"{key}, {key}",
        "never made": credentials.new_api_key(ids.new(ids.API_KEY)),
        "with a wrong secret": wrong_secret(key),
    }
    ended = ended_keys(organizer)
    texts |= {name: text for name, (text, _) in ended.items()}
    token = member(organizer, "gone@example.org", "admin")
    cli(organizer.app, "members", "disable", organizer.slug, "gone@example.org")
    return {
        **{f"key {name}": {"X-API-Key": text} for name, text in texts.items()},
        **{f"JWT of a key that is {name}": bearer(token) for name, (_, token) in ended.items()},
        "JWT of a disabled member": bearer(token),
    }


def _forged(organizer: Organizer, neighbour: Organizer) -> Headers:
    """Return JWTs of a valid key, each with one error. Most of them need our secret."""
    token = exchange(organizer, organizer.admin_key)
    good = jwt.decode(token, SECRET_KEY, ["HS256"], audience="ticketing-admin")
    assert set(good) == CLAIMS
    now = int(datetime.now(UTC).timestamp())
    header, payload, signature = token.split(".")
    with warnings.catch_warnings(action="ignore", category=jwt.InsecureKeyLengthWarning):
        hs512 = jwt.encode(good, SECRET_KEY, "HS512")
    texts = {
        "of garbage": "a.b.c",
        "not ASCII": "\xff.\xff.\xff",
        "alg none": jwt.encode(good, None, "none"),
        "alg none, signed": f"{jwt.encode(good, None, 'none').rsplit('.', 1)[0]}.{signature}",
        "alg HS512": hs512,
        "without a signature": f"{header}.{payload}.",
        "with another payload": f"{header}.{payload[:-4]}AAAA.{signature}",
        "of another secret": jwt.encode(good, OTHER_SECRET, "HS256"),
        "before a good key": f"{header}.{payload}.",
    }
    _, others_id, _ = neighbour.admin_key.split("_")
    changes: dict[str, dict[str, Any]] = {
        "ended": {"iat": now - 902, "exp": now - 2},
        "not begun": {"nbf": now + 600},
        "from far ahead": {"iat": now + 86_400, "exp": now + 90_000},
        "of another audience": {"aud": "elsewhere"},
        "of another issuer": {"iss": "elsewhere"},
        "of nobody": {"sub": f"{ids.API_KEY}{'0' * 26}"},
        "of no member": {"sub": f"{ids.MEMBER}{'0' * 26}"},
        "of a tenant": {"sub": organizer.id},
        "of a number": {"sub": 1},
        "of a key that says another tenant": {"tenant": neighbour.slug},
        "of a neighbour's key that says this tenant": {"sub": f"{ids.API_KEY}{others_id}"},
    }
    for name, change in changes.items():
        texts[name] = jwt.encode({**good, **change}, SECRET_KEY, "HS256")
    for claim in CLAIMS:
        left = {name: value for name, value in good.items() if name != claim}
        texts[f"without {claim}"] = jwt.encode(left, SECRET_KEY, "HS256")
    keyed = {"X-API-Key": organizer.admin_key}
    return {
        f"JWT {name}": bearer(text) | (keyed if "good key" in name else {})
        for name, text in texts.items()
    }


def _of_neighbour(neighbour: Organizer) -> Headers:
    return {
        "neighbour's key": {"X-API-Key": neighbour.admin_key},
        "neighbour's JWT": bearer(exchange(neighbour, neighbour.admin_key)),
        "neighbour's member's JWT": bearer(member(neighbour, "eve@example.org", "admin")),
        "neighbour's lowest key": {"X-API-Key": neighbour.key("read")},
    }


def _good(organizer: Organizer, role: Role) -> Headers:
    found = {f"{role} member's JWT": bearer(member(organizer, f"{role}@example.org", role.value))}
    if role in LADDER:
        token, key = both_ways(organizer, organizer.key(role.value))
        found |= {f"{role} JWT": token, f"{role} key": key}
    if role is Role.READ:
        claims = jwt.decode(
            exchange(organizer, organizer.key("read")),
            SECRET_KEY,
            ["HS256"],
            audience="ticketing-admin",
        )
        grown = jwt.encode({**claims, "role": "admin"}, SECRET_KEY, "HS256")
        found["read JWT that says admin"] = bearer(grown)
    return found

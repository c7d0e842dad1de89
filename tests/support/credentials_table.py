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
    return [
        *_nothing(organizer),
        *_bad_keys(organizer),
        *(Credential(*each) for each in _bad_members(organizer)),
        *_forged(organizer, neighbour),
        *_of_neighbour(neighbour),
        *_good(organizer),
        Credential("metrics token", Kind.METRICS, bearer(METRICS_TOKEN)),
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


def expire(organizer: Organizer, key_id: str) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    ApiKey.update(expires_at=past).where(ApiKey.id == key_id).execute()


def revoke(organizer: Organizer, key_id: str) -> None:
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    assert owner.post(f"{organizer.path}/apikeys/{key_id}/revoke").status_code == 200


def rotate(organizer: Organizer, key_id: str) -> None:
    """Give a key a new secret. The old one ends at once."""
    owner = organizer.with_headers({"X-API-Key": organizer.admin_key})
    body = {"overlap_seconds": 0}
    assert owner.post(f"{organizer.path}/apikeys/{key_id}/rotate", body).status_code == 200


def wrong_secret(key: str) -> str:
    """Return a well-formed key with the id of `key` and a wrong secret."""
    return credentials.new_api_key(credentials.api_key_id(key) or "")


def _nothing(organizer: Organizer) -> list[Credential]:
    key = organizer.admin_key
    tokens = {
        "empty": "",
        "garbage": "garbage",
        "not ASCII": "\xff\xfe",
        "like parameters": 'a="b"',
        "key as bearer": key,
        "of two parts": "a.b",
    }
    return [
        Credential("none", Kind.NONE, {}),
        Credential("basic", Kind.SCHEME, {"Authorization": "Basic YWRtaW46YWRtaW4="}),
        Credential("basic, not ASCII", Kind.SCHEME, {"Authorization": "Basic \xff"}),
        Credential("scheme, not ASCII", Kind.SCHEME, {"Authorization": "\xff \xff"}),
        Credential(
            "JWT without its scheme", Kind.SCHEME, {"Authorization": exchange(organizer, key)}
        ),
        *(Credential(name, Kind.BEARER, bearer(token)) for name, token in tokens.items()),
        *(
            Credential(
                f"{name}, before a good key", Kind.BEARER, bearer(token) | {"X-API-Key": key}
            )
            for name, token in tokens.items()
        ),
    ]


def _bad_keys(organizer: Organizer) -> list[Credential]:
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
    found = [
        Credential(f"key {name}", Kind.BAD, {"X-API-Key": text}) for name, text in texts.items()
    ]
    ends = {"revoked": revoke, "rotated away": rotate, "expired": expire}
    for name, end in ends.items():
        key_id, text = new_key(organizer)
        ways = both_ways(organizer, text)
        end(organizer, key_id)
        found += [Credential(f"{name} key {way}", Kind.BAD, way) for way in ways]
    return found


def _bad_members(organizer: Organizer) -> list[tuple[str, Kind, dict[str, str]]]:
    token = member(organizer, "gone@example.org", "admin")
    cli(organizer.app, "members", "disable", organizer.slug, "gone@example.org")
    return [("JWT of a disabled member", Kind.BAD, bearer(token))]


def _forged(organizer: Organizer, neighbour: Organizer) -> list[Credential]:
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
    return [
        Credential(f"JWT {name}", Kind.BAD, bearer(text) | (keyed if "good key" in name else {}))
        for name, text in texts.items()
    ]


def _of_neighbour(neighbour: Organizer) -> list[Credential]:
    ways = {
        "key": {"X-API-Key": neighbour.admin_key},
        "JWT": bearer(exchange(neighbour, neighbour.admin_key)),
        "member's JWT": bearer(member(neighbour, "eve@example.org", "admin")),
        "lowest key": {"X-API-Key": neighbour.key("read")},
    }
    return [Credential(f"neighbour's {way}", Kind.NEIGHBOUR, sent) for way, sent in ways.items()]


def _good(organizer: Organizer) -> list[Credential]:
    found = []
    for role in Role:
        if role in LADDER:
            token, key = both_ways(organizer, organizer.key(role.value))
            found += [Credential(f"{role} JWT", role, token), Credential(f"{role} key", role, key)]
        person = bearer(member(organizer, f"{role}@example.org", role.value))
        found.append(Credential(f"{role} member's JWT", role, person))
    reader = exchange(organizer, organizer.key("read"))
    claims = jwt.decode(reader, SECRET_KEY, ["HS256"], audience="ticketing-admin")
    grown = jwt.encode({**claims, "role": "admin"}, SECRET_KEY, "HS256")
    return [*found, Credential("read JWT that says admin", Role.READ, bearer(grown))]

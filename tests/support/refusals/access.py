"""Situations of members, keys and webhooks."""

from tests.conftest import SECRET_KEY
from tests.support.console import PASSWORD
from tests.support.refusals.shop import Shop, Table, refuses
from ticketing import credentials, errors
from ticketing.models.members import Member
from ticketing.notification_types import MAX_WEBHOOKS

REFUSALS: Table = {}


@refuses(errors.KeyNotActive, REFUSALS)
def new_secret_of_a_revoked_key(shop: Shop) -> None:
    key_id = shop.has("apikeys", {"name": "shop", "role": "read"})["id"]
    shop.has(f"apikeys/{key_id}/revoke", None)
    shop.both(f"apikeys/{key_id}/rotate", f"keys/{key_id}/rotate", overlap_seconds=0)


@refuses(errors.MemberExists, REFUSALS)
def second_member_of_one_address(shop: Shop) -> None:
    shop.both("members", "people", email=shop.console.email.upper(), role="read")


@refuses(errors.LastAdmin, REFUSALS)
def last_administrator(shop: Shop) -> None:
    me = Member.get(Member.email == shop.console.email).id
    shop.both(f"members/{me}", f"people/{me}/role", "PATCH", role="write")
    shop.both(f"members/{me}/disable", f"people/{me}/disable")


@refuses(errors.InvitationEnded, REFUSALS)
def invitation_that_was_used(shop: Shop) -> None:
    made = shop.has("members", {"email": "grace@example.org", "role": "read"})
    token = made["invitation_url"].rpartition("/")[2]
    accepting = {"invitation": token, "password": PASSWORD}
    assert shop.public.post("/v1/auth/invitation", accepting).status_code == 200
    shop.api("/v1/auth/invitation", accepting, shop.public)
    shop.form(f"/console/invitation/{token}", password=PASSWORD)


@refuses(errors.PasswordResetEnded, REFUSALS)
def link_for_a_new_password_that_is_too_old(shop: Shop) -> None:
    me = Member.get(Member.email == shop.console.email)
    reset = credentials.password_reset(SECRET_KEY, me.id, me.generation, 1_000_000_000)
    shop.form(f"/console/reset/{reset}", password=PASSWORD)


@refuses(errors.TooManyWebhooks, REFUSALS)
def one_webhook_more(shop: Shop) -> None:
    url = "https://shop.example.org/hooks"
    for _ in range(MAX_WEBHOOKS):
        shop.has("webhooks", {"url": url, "types": ["*"]})
    shop.api("webhooks", {"url": url, "types": ["*"]})
    shop.form("webhooks", url=url, types="*")

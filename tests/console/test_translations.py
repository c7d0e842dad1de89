"""Each string of the console goes through gettext."""

import pytest

from tests.support.console import SAME_ORIGIN
from tests.support.translations import mark, not_translated
from ticketing.application import build
from ticketing.roles import Role
from ticketing.services.access import invitations
from ticketing.web.context import config

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language."""
    app = build()
    mark(app)
    return app


@pytest.mark.parametrize("path", ["/console/account", "/console/settings"])
def test_pages_have_no_text_that_cannot_be_translated(console, path):
    assert not_translated(console.get(path).text) == []


def test_refused_settings_can_be_translated(console):
    refused = console.send("/console/settings", {"name": "", "accent_color": "red"})
    assert not_translated(refused.text) == []


def test_signing_in_can_be_translated(app, acme, neighbour):
    browser = app.test_client()
    wrong = {"tenant": "acme", "email": "a@example.org", "password": "wrong"}
    for page in (
        browser.get("/console/sign-in"),
        browser.post("/console/sign-in", data=wrong, headers=SAME_ORIGIN),
    ):
        assert not_translated(page.text) == []


@pytest.mark.parametrize("email", [None, "grace@example.org"])
def test_invitations_can_be_translated(app, acme, email):
    with app.app_context():
        member = invitations.create(acme.id, email, Role.ADMIN, config().keyring)
    path = f"/console/invitation/{member.invitation}"
    browser = app.test_client()
    refused = browser.post(path, data={"password": "short"}, headers=SAME_ORIGIN)
    for page in (browser.get(path), refused):
        assert not_translated(page.text) == []

"""An invited member sets a password at a one-time link, and is signed in."""

import pytest

from tests.support.console import PASSWORD, SAME_ORIGIN
from ticketing.roles import Role
from ticketing.services.access import invitations
from ticketing.web.context import config

ACCOUNT = "/console/account"


@pytest.fixture
def invite(app, acme):
    """A function that invites somebody, and returns the path of the link."""

    def invite(email="grace@example.org", role=Role.WRITE):
        with app.app_context():
            member = invitations.create(acme.id, email, role, config().keyring)
        return f"/console/invitation/{member.invitation}"

    return invite


@pytest.fixture
def browser(app):
    return app.test_client()


def accept(browser, path, **form):
    return browser.post(path, data={"password": PASSWORD, **form}, headers=SAME_ORIGIN)


def test_opening_the_link_changes_nothing_and_is_not_kept(invite, browser):
    path = invite()
    for _ in range(2):
        page = browser.get(path)
        assert page.status_code == 200 and "grace@example.org" in page.text
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["X-Robots-Tag"] == "noindex"


def test_a_password_signs_in_and_ends_the_link(invite, browser):
    path = invite()
    assert accept(browser, path).headers["Location"] == "/console"
    assert "grace@example.org" in browser.get(ACCOUNT).text
    assert "Editor" in browser.get(ACCOUNT).text
    assert browser.get(path).status_code == 410


def test_the_first_member_says_their_address(invite, browser):
    path = invite(email=None, role=Role.ADMIN)
    assert 'name="email"' in browser.get(path).text
    missing = accept(browser, path)
    assert missing.status_code == 422 and 'id="email-error"' in missing.text
    assert accept(browser, path, email="First@Example.org").status_code == 303
    assert "first@example.org" in browser.get(ACCOUNT).text


def test_a_short_password_is_refused_and_not_shown_again(invite, browser):
    answer = accept(browser, invite(), password="too short")
    assert answer.status_code == 422
    assert "Must have 12 to 128 characters." in answer.text
    assert "too short" not in answer.text


def test_a_link_that_is_not_complete_is_not_found(invite, browser):
    assert browser.get(invite()[:-1]).status_code == 404
    assert accept(browser, "/console/invitation/x").status_code == 404

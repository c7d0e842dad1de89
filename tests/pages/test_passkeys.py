"""Passkeys in a real Chromium with a virtual authenticator: after the password, or alone."""

import json
from contextlib import contextmanager
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.remote import in_process
from tools.headless import DESKTOP, PHONE

EMAIL = "ada@example.org"
ACCOUNT = "/console/account/second-factor"

pytestmark = [only_once, pytest.mark.long]


@pytest.fixture
def url(stack, remote):
    """The service at a name: browsers have no passkeys for an IP address."""
    tenant = remote.path.rpartition("/")[2]
    member = ("members", "add", tenant, EMAIL, "--role", "admin", "--password-stdin")
    in_process(stack, *member, stdin=f"{PASSWORD}\n")
    return stack.url.replace("127.0.0.1", "localhost")


class Authenticator:
    """The authenticator of one tab: Chromium's virtual one, over the DevTools protocol."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)
        self.session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        added = self.session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self.id = {"authenticatorId": added["authenticatorId"]}

    def credentials(self):
        return self.session.send("WebAuthn.getCredentials", self.id)["credentials"]

    def verifies(self, verified):
        sent = {**self.id, "isUserVerified": verified}
        self.session.send("WebAuthn.setUserVerified", sent)


@pytest.fixture
def page(visit, url):
    return visit(url, **DESKTOP)


@pytest.fixture
def keys(page):
    return Authenticator(page)


def sign_in(page, password=PASSWORD):
    page.goto("/console/sign-in")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page):
    page.goto("/console/account")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def add(page, name="My laptop"):
    """Add a passkey, and return the recovery codes."""
    page.goto(ACCOUNT)
    page.get_by_label("Name").fill(name)
    page.locator("#passkey-password").fill(PASSWORD)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes").first).to_be_visible()
    return page.locator("main").inner_text()


@contextmanager
def last_form(page, path):
    """Keep what the page sends to a path."""
    sent = []

    def note(request):
        if path in request.url:
            sent.append(request.post_data)

    page.on("request", note)
    yield sent
    page.remove_listener("request", note)


def test_a_passkey_signs_in_without_the_password_and_once(page, keys, visit):
    sign_in(page)
    add(page)
    (stored,) = keys.credentials()
    assert stored["isResidentCredential"] is True
    sign_out(page)
    with last_form(page, "/sign-in/passkey") as sent:
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("link", name=EMAIL)).to_be_visible()
    # What was signed is of no use again, also to a person who has read it.
    form = {name: values[0] for name, values in parse_qs(sent[-1]).items()}
    sign_out(page)
    visit.expect("status of 401")
    replayed = """async (form) => {
        const body = new URLSearchParams(form);
        return (await fetch("/console/sign-in/passkey", {method: "POST", body})).status;
    }"""
    assert page.evaluate(replayed, form) == 401
    # Nor is a signature for another challenge, or of another site.
    answer = json.loads(form["credential"])
    for part in ("clientDataJSON", "authenticatorData", "signature"):
        changed = {**answer, "response": {**answer["response"], part: "AAAA"}}
        assert page.evaluate(replayed, {"credential": json.dumps(changed)}) == 401, part
    page.goto("/console/account")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_after_the_password_it_is_asked_for(page, keys):
    sign_in(page)
    add(page)
    sign_out(page)
    sign_in(page)
    expect(page.get_by_text("Your password is right.")).to_be_visible()
    page.get_by_role("button", name="Use your passkey").click()
    expect(page.get_by_role("link", name=EMAIL)).to_be_visible()


def test_without_the_finger_nothing_is_signed(page, keys):
    sign_in(page)
    add(page)
    sign_out(page)
    keys.verifies(False)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was signed")


def test_it_is_removed_with_the_password_and_opens_nothing_then(page, keys, visit):
    sign_in(page)
    add(page)
    page.goto(ACCOUNT)
    page.get_by_text("Remove this passkey").click()
    page.locator("details[open]").get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("Removed.", exact=True)).to_be_visible()
    sign_out(page)
    visit.expect("status of 401")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert").first).to_contain_text("Your passkey was not accepted")
    sign_in(page)
    expect(page.get_by_role("link", name=EMAIL)).to_be_visible()


def test_a_recovery_code_replaces_it_on_another_device(page, keys, visit, url):
    sign_in(page)
    code = next(line for line in add(page).splitlines() if len(line) == 11 and line[5] == "-")
    phone = visit(url, **PHONE)
    sign_in(phone)
    phone.get_by_label("Code").fill(code)
    phone.get_by_role("button", name="Sign in", exact=True).click()
    expect(phone.get_by_role("link", name=EMAIL)).to_be_visible()


def test_at_an_ip_address_the_page_says_why_there_are_none(stack, url, visit):
    page = visit(stack.url, **DESKTOP)
    sign_in(page)
    page.goto(ACCOUNT)
    expect(page.get_by_text("Passkeys need an address with a name")).to_be_visible()

"""Where the money goes, in a real browser: an address, its comparison and the recovery file."""

import json

import pytest
from playwright.sync_api import expect

from tests.support.browser import axe
from tests.support.console import PASSWORD
from tests.support.databases import only_once
from tests.support.processes import new_tenant
from tests.support.receivers import DEPLOYER, Chain
from tests.support.remote import in_process
from tools.headless import DESKTOP, PHONE

EMAIL = "ada@example.org"
OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
PHRASE = "test " * 11 + "junk"
OWN_WALLET = "Use my browser wallet"
SAME = "Yes, it is the same"
SAVED = "Saved. New orders are paid to this wallet."
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = only_once


def wallets(**accounts):
    """A script with a wallet of each name, on the local chain. `wallets.NAME` can be changed.

    `does`: an EIP-1193 error to throw, "hang", or empty.
    """
    return f"""
globalThis.wallets = {{}};
for (const [name, account] of Object.entries({json.dumps(accounts)})) {{
  const own = wallets[name] = {{ account, chain: "0x7a69", does: null }};
  const request = ({{ method }}) => {{
    if (own.does === "hang") return new Promise((resolve) => {{ own.answer = resolve; }});
    if (own.does) return Promise.reject(own.does);
    return Promise.resolve(method === "eth_chainId" ? own.chain : [own.account].filter(Boolean));
  }};
  const detail = Object.freeze({{ info: {{ uuid: name, name }}, provider: {{ request }} }});
  addEventListener("eip6963:requestProvider", () => dispatchEvent(
    new CustomEvent("eip6963:announceProvider", {{ detail }})));
}}
"""


@pytest.fixture
def remote(stack):
    """A tenant without a wallet."""
    return new_tenant(stack, address=None)


@pytest.fixture
def opened(stack, remote, visit):
    """Open the page of the wallet, as an administrator who has signed in."""
    tenant = remote.path.rpartition("/")[2]
    member = ("members", "add", tenant, EMAIL, "--role", "admin", "--password-stdin")
    in_process(stack, *member, stdin=f"{PASSWORD}\n")

    def opened(**options):
        page = visit(stack.url, **{**DESKTOP, **options})
        page.goto("/console/sign-in?next=/console/wallet")
        page.get_by_label("Email").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Where your money goes")).to_be_visible()
        return page

    return opened


@pytest.fixture
def address_of(remote):
    """The address of the wallet that is saved."""
    return lambda: remote.send("GET", f"{remote.path}/wallet").json.get("address")


def field(page):
    return page.get_by_label("Paste its address")


def save(page):
    page.get_by_role("button", name="Save and go on").click()


def test_an_organizer_sets_an_address_and_saves_the_recovery_file(opened, remote, visit):
    page = opened()
    visit.expect("status of 422")
    expect(page.get_by_role("button", name=OWN_WALLET)).to_have_count(0)
    field(page).fill(PHRASE)
    save(page)
    expect(page.get_by_text("This is your secret phrase.")).to_be_visible()
    assert PHRASE not in page.content()

    field(page).fill(OWNER.lower())
    expect(page.locator("#compared .chain-address")).to_have_text(OWNER)
    page.get_by_label("Local").check()
    assert axe(page) == []
    save(page)
    expect(page.get_by_text(SAVED)).not_to_be_visible()  # The box must be ticked first.
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert axe(page) == []

    page.get_by_label("Your password").fill(PASSWORD)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the recovery file").click()
    file = json.loads(started.value.path().read_text())
    assert file["wallets"][0]["owner"] == OWNER
    wallet = remote.send("GET", f"{remote.path}/wallet").json
    assert (wallet["address"], wallet["warnings"]) == (OWNER, [])


def test_nothing_but_an_address_leaves_the_page_before_the_form_is_sent(opened):
    page = opened()
    page.wait_for_load_state("networkidle")  # its own files are here
    sent = []
    page.on("request", lambda request: sent.append(request.post_data))
    for text in (PHRASE, "0x" + "ab" * 32, OWNER[:-1], ""):
        field(page).fill(text)
    assert sent == []
    wrong = OWNER.replace("C", "c", 1)
    field(page).fill(wrong)
    expect(page.get_by_text("A letter or digit of this address is wrong.")).to_be_visible()
    assert axe(page) == []
    assert [wrong in each for each in sent] == [True]


def test_the_browsers_wallet_fills_in_its_address_by_keyboard(opened, address_of):
    page = opened(script=wallets(Fox=OWNER.lower()))
    button = page.get_by_role("button", name=OWN_WALLET)
    expect(button).to_have_class("primary")
    button.focus()
    page.keyboard.press("Enter")
    expect(field(page)).to_have_value(OWNER.lower())
    expect(page.locator("#compared .chain-address")).to_have_text(OWNER)
    expect(page.get_by_label("Local")).to_be_checked()
    expect(button).not_to_have_class("primary")
    page.get_by_label(SAME).focus()
    page.keyboard.press("Space")
    field(page).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == OWNER


def test_a_network_that_was_chosen_stays_and_an_unknown_one_is_not_chosen(opened):
    page = opened(script=wallets(Fox=OWNER))
    page.evaluate("wallets.Fox.chain = '0x1'")
    page.get_by_role("button", name=OWN_WALLET).click()
    expect(page.get_by_label(SAME)).to_be_visible()
    assert page.locator("input[name=chain_ids]:checked").count() == 0


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("{ code: 4001, message: 'no' }", "You closed the request in your wallet."),
        ("{ code: -32002, message: 'pending' }", "Your wallet gave no address."),
        ("'no object'", "Your wallet gave no address."),
    ],
)
def test_a_wallet_that_refuses_is_said_in_a_sentence_and_can_be_asked_again(opened, does, said):
    page = opened(script=wallets(Fox=OWNER))
    page.evaluate(f"wallets.Fox.does = {does}")
    page.get_by_role("button", name=OWN_WALLET).click()
    expect(page.get_by_text(said)).to_be_visible()
    assert axe(page) == []
    page.evaluate("wallets.Fox.does = null")
    page.get_by_role("button", name=OWN_WALLET).click()
    expect(field(page)).to_have_value(OWNER)
    expect(page.get_by_text(said)).to_have_count(0)


def test_a_locked_wallet_shows_no_account(opened):
    page = opened(script=wallets(Fox=None))
    page.get_by_role("button", name=OWN_WALLET).click()
    expect(page.get_by_text("Your wallet gave no address.")).to_be_visible()
    expect(field(page)).to_have_value("")


def test_of_two_wallets_the_one_that_answers_fills_in_its_address(opened):
    page = opened(script=wallets(Fox=OWNER, Crab=OTHER))
    page.evaluate("wallets.Fox.does = 'hang'")
    page.get_by_role("button", name="Use Fox").click()
    expect(page.get_by_text("Look at your wallet")).to_be_visible()
    page.get_by_role("button", name="Use Crab").click()
    expect(field(page)).to_have_value(OTHER)
    # The first one answers at last: what was chosen since stays.
    page.evaluate("{ wallets.Fox.does = null; wallets.Fox.answer([wallets.Fox.account]); }")
    expect(page.locator("#compared .chain-address")).to_have_text(OTHER)
    expect(field(page)).to_have_value(OTHER)


def test_a_wallet_that_hangs_keeps_nobody_from_pasting(opened):
    page = opened(script=wallets(Fox=OTHER))
    page.evaluate("wallets.Fox.does = 'hang'")
    page.get_by_role("button", name=OWN_WALLET).click()
    field(page).fill(OWNER)
    expect(page.get_by_text("Look at your wallet")).to_have_count(0)
    expect(page.get_by_label(SAME)).to_be_visible()


def test_what_was_refused_is_compared_on_the_same_page_again(opened, address_of, visit):
    page = opened()
    visit.expect("status of 422")
    field(page).fill(OWNER)
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_text("Choose the networks on which")).to_be_visible()
    page.get_by_label("Local").check()
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == OWNER


def test_another_address_must_be_compared_again(opened):
    page = opened()
    field(page).fill(OWNER)
    page.get_by_label(SAME).check()
    field(page).fill(OTHER)
    expect(page.locator("#compared .chain-address")).to_have_text(OTHER)
    expect(page.get_by_label(SAME)).not_to_be_checked()


def test_the_limits_of_an_exchange_are_shown_for_an_exchange(opened, address_of):
    page = opened(**PHONE)
    deposit = page.get_by_label("minimum deposit")
    expect(deposit).not_to_be_visible()
    page.get_by_text("An account at an exchange").click()
    expect(deposit).to_be_visible()
    expect(page.get_by_text("You pay refunds by hand.")).to_be_visible()
    deposit.fill("10")
    field(page).fill(OWNER)
    page.get_by_label(SAME).check()
    page.get_by_label("Local").check()
    assert axe(page) == []
    assert page.evaluate(OVERFLOW) <= 0
    save(page)
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == OWNER


MINE = "This is my Safe or smart wallet"


@pytest.fixture
def chain(node):
    """Its first contracts are tokens of the registry: those of tests come after them."""
    chain = Chain(node, is_deployed=False)
    node.rpc("anvil_setNonce", chain.accounts[DEPLOYER], "0x64")
    return chain


@pytest.mark.parametrize("screen", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_contract_is_confirmed_where_it_was_refused(chain, opened, address_of, visit, screen):
    owner = chain.owner()
    page = opened(**screen)
    visit.expect("status of 422")
    expect(page.get_by_label(MINE)).to_have_count(0)
    field(page).fill(owner)
    page.get_by_text("Local").first.click()
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_text("Is it your Safe or smart wallet?")).to_be_visible()
    expect(page.get_by_label(MINE)).to_be_focused()
    expect(page.get_by_label(SAME)).to_be_visible()
    expect(page.get_by_label(MINE)).to_be_in_viewport()
    assert axe(page) == []
    assert page.evaluate(OVERFLOW) <= 0
    page.get_by_label(MINE).check()
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == owner


def test_what_was_said_of_a_contract_does_not_count_for_another_address(chain, opened, visit):
    page = opened()
    visit.expect("status of 422")
    field(page).fill(chain.owner())
    page.get_by_label("Local").check()
    page.get_by_label(SAME).check()
    save(page)
    page.get_by_label(MINE).check()
    field(page).fill(chain.owner())
    expect(page.get_by_label(MINE)).to_have_count(0)
    page.get_by_label(SAME).check()
    save(page)
    expect(page.get_by_label(MINE)).not_to_be_checked()


def test_without_scripts_a_contract_is_confirmed_as_well(chain, opened, address_of, visit):
    owner = chain.owner()
    page = opened(java_script_enabled=False)
    visit.expect("status of 422")
    field(page).fill(owner)
    page.get_by_label("Local").check()
    save(page)
    page.get_by_label(MINE).check()
    save(page)
    expect(page.get_by_text("This address is a contract.")).to_be_visible()
    page.get_by_role("button", name=SAME).click()
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == owner


def test_without_scripts_the_next_page_asks_to_compare(opened, address_of):
    page = opened(java_script_enabled=False)
    field(page).fill(OWNER.lower())
    page.get_by_label("Local").check()
    save(page)
    expect(page.get_by_role("heading", name="Is this your address?")).to_be_visible()
    expect(page.locator(".chain-address")).to_have_text(OWNER)
    page.get_by_role("button", name=SAME).click()
    expect(page.get_by_text(SAVED)).to_be_visible()
    assert address_of() == OWNER

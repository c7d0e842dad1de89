"""The feed and the books after each story of money, as the API shows them."""

import json
import re

import pytest

from tests.golden.comparing import HERE, compare
from tests.golden.money_stories import STORIES, Shop
from tests.support.factories import CHAIN, worker_once
from tests.support.feed import feed
from ticketing.services.payments import reconciliation
from tools.anvil import SECOND_CHAIN_ID

pytestmark = pytest.mark.one_database

VARYING = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z)|0x(?P<hash>[0-9a-fA-F]{64})\b"
    r"|0x(?P<address>[0-9a-fA-F]{40})\b|\b(?P<id>[a-z]{2,3})_[0-9a-z]{26}\b"
)
"""Times, hashes, addresses and ids. They differ each time."""


@pytest.fixture
def shop(node, second_node, acme):
    worker_once(acme.app)
    return Shop(acme, {CHAIN: node, SECOND_CHAIN_ID: second_node})


class Placeholders:
    """Replaces what differs each time. The same value has the same placeholder."""

    def __init__(self):
        self._known = {}

    def __call__(self, text):
        return VARYING.sub(self._shown, text)

    def _shown(self, match):
        kind = match["id"] or match.lastgroup
        if kind == "time":
            return "<time>"
        same = self._known.setdefault(kind, {})
        return f"<{kind}-{same.setdefault(match[0].lower(), len(same) + 1)}>"


def facts(shop):
    for each in feed(shop.acme):
        yield f"{each['type']} {json.dumps(each['data'], sort_keys=True)}\n"


def books(shop, buyers):
    """What the organizer and the buyer see of the orders, and of the money."""
    staff = shop.acme.with_headers({"X-API-Key": shop.acme.admin_key})
    seen = {
        f"order {number} of {len(buyers)}, for the organizer": staff.get(
            f"{shop.acme.path}/intents/{buyer.intent['id']}"
        )
        for number, buyer in enumerate(buyers, 1)
    }
    for number, buyer in enumerate(buyers, 1):
        seen[f"order {number} of {len(buyers)}, for the buyer"] = buyer.api.get(buyer.path)
    for name in ("money", "sales", "refunds"):
        seen[name] = staff.get(f"{shop.acme.path}/{name}")
    for name, answer in seen.items():
        assert answer.status_code == 200, answer.json
        yield f"=== {name}\n{json.dumps(answer.json, indent=1, sort_keys=True)}\n"


@pytest.mark.parametrize("story", STORIES)
def test_the_feed_and_the_books_of_each_story(story, shop):
    buyers = STORIES[story](shop)
    shop.look()
    assert reconciliation.reconcile(None) == []
    text = "".join(["=== feed\n", *facts(shop), *books(shop, buyers)])
    compare(f"money/{story}.txt", Placeholders()(text))


def test_no_file_is_left_over():
    assert {path.stem for path in (HERE / "money").iterdir()} == STORIES.keys()

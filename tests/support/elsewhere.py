"""Orders that are paid on two networks, and what is owed on the second one."""

import csv
from datetime import UTC, datetime

from tests.support import payees
from tests.support.carts import carts_of
from tests.support.factories import CHAIN, PRICE, cli, worker_once
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, pay_from
from ticketing.models.chains import ChainState
from ticketing.services.payments import reconciliation
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

BOTH = [CHAIN, SECOND]


def order(shop, *chain_ids):
    """An order of one ticket that is sold on these chains. Its home is the first."""
    return shop.buyer(shop.ticket(carts_of(shop), chain_ids=chain_ids or BOTH))


def pay(nodes_of, buyer, chain_id, amount=PRICE):
    """Send money to an order's address on one chain, and let the worker look."""
    pay_from(nodes_of[chain_id], FRIEND, buyer, amount)
    worker_once(buyer.organizer.app)


def paid_twice(shop, nodes_of, on_home=PRICE, elsewhere=PRICE):
    """An order that is paid at home, and owes what came on the second chain."""
    buyer = order(shop, CHAIN)
    pay_from(nodes_of[CHAIN], FRIEND, buyer, on_home)
    pay(nodes_of, buyer, SECOND, elsewhere)
    return buyer


def state(buyer, address, chain_id=None):
    """State where the money of one chain shall go."""
    answer = payees.state(buyer, address, chain_id=chain_id)
    assert answer.status_code == 200, answer.json


def give_back(node, amount, to=FRIEND_ADDRESS):
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, amount)
    return anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, to, amount)["transactionHash"]


def refund(shop, buyer, action, **body):
    path = f"{shop.path}/refunds/{buyer.intent['id']}/{action}"
    return shop.api().post(path, body)


def refunds(shop, **query):
    answer = shop.api("read").get(f"{shop.path}/refunds", query_string=query)
    assert answer.status_code == 200, answer.json
    return answer.json


def places(listed):
    return [(each["intent_id"], each["chain_id"], each["amount"]) for each in listed["data"]]


def all_pages(shop, **query):
    """Every refund of a list, one a page."""
    found = refunds(shop, limit=1, **query)
    seen = places(found)
    while found["next_cursor"]:
        found = refunds(shop, limit=1, cursor=found["next_cursor"], **query)
        seen += places(found)
    return seen


def money(shop):
    """The figures by chain, after checking that each line adds up."""
    rows = shop.api("read").get(f"{shop.path}/money").json["data"]
    for row in rows:
        parts = ("kept", "open", "owed", "refunded", "waived")
        assert row["received"] == sum(row[part] for part in parts), row
    return {row["chain_id"]: row for row in rows}


def exported(app, tmp_path, *command):
    """The lines of a file that the command line writes."""
    path = tmp_path / f"{command[0]}.csv"
    cli(app, *command, "acme", "--output", str(path))
    with path.open() as file:
        return list(csv.DictReader(file))


def read_to_the_end(node):
    """The worker has read all blocks, and looked for no strays in them."""
    block = node.rpc("eth_getBlockByNumber", "latest", False)
    ChainState.update(
        block_number=int(block["number"], 16),
        block_hash=block["hash"],
        block_time=datetime.fromtimestamp(int(block["timestamp"], 16), UTC),
    ).where(ChainState.chain_id == SECOND).execute()


def sound():
    assert reconciliation.reconcile(None) == []

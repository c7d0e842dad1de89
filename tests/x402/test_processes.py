"""Real processes: copies at once, a crash between row and settle, and who goes on."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from tests.support.processes import new_tenant, variables_of
from tests.support.relayer import held
from tests.support.remote import eventually, in_process
from tests.support.waits import assert_wait_little, usual_seconds
from tests.support.x402 import Facilitator, Wallet, encoded, required
from ticketing.constants import LOOKS_AT_ONCE
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = pytest.mark.long

COPIES = 8
PROCESSES = 2


@pytest.fixture
def facilitator(node):
    with Facilitator(node) as running:
        yield running


@pytest.fixture
def variables(database_url, bad_node, facilitator):
    more = {"PUBLIC_URL": "https://tickets.example.org"}
    more["X402_FACILITATOR_URL_31337"] = facilitator.url
    return variables_of(database_url, bad_node.url, WEB_CONCURRENCY=str(PROCESSES), **more)


@pytest.fixture
def path(stack, remote):
    ticket = remote.ticket(capacity=100)
    in_process(stack, "worker", "--once")
    slug = remote.path.rpartition("/")[2]
    return f"/v1/x402/tenants/{slug}/tickets/{ticket['id']}/orders"


def address(asked):
    return asked["accepts"][0]["payTo"]


def assert_one_order(answers, send):
    """Check the answers to requests that were sent at once, and that repeats get one order.

    While one of them asks the node whether the payer has the money, the others get 503.
    """
    statuses = {each.status for each in answers}
    assert statuses <= {200, 202, 503} and statuses != {503}
    repeats = []

    def are_paid():
        repeats[:] = [send(each) for each in range(COPIES)]
        return {each.status for each in repeats} == {200}

    eventually(are_paid)
    bought = repeats + [each for each in answers if each.status == 200]
    assert len({each.json["id"] for each in bought}) == 1
    assert len({each.json["admissions"][0]["code"] for each in bought}) == 1


def test_eight_copies_at_once_settle_once(stack, remote, path, facilitator, node):
    asked = required(remote.client.send("POST", path))
    headers = {"PAYMENT-SIGNATURE": encoded(Wallet().payment(asked))}

    def send(_):
        return remote.client.send("POST", path, headers=headers)

    stack.start_worker()
    with ThreadPoolExecutor(COPIES) as pool:
        answers = list(pool.map(send, range(COPIES)))
    assert_one_order(answers, send)
    assert len(facilitator.asked) == 1
    assert held(node, address(asked)) == PRICE


def test_two_signatures_of_one_buyer_at_once_pay_once(stack, remote, path, facilitator, node):
    asked = required(remote.client.send("POST", path))
    payments = [encoded(Wallet().payment(asked)) for _ in range(COPIES)]

    def send(number):
        return remote.client.send("POST", path, headers={"PAYMENT-SIGNATURE": payments[number]})

    stack.start_worker()
    with ThreadPoolExecutor(COPIES) as pool:
        answers = list(pool.map(send, range(COPIES)))
    assert_one_order(answers, send)
    assert len(facilitator.asked) == 1
    assert held(node, address(asked)) == PRICE


@pytest.mark.parametrize("mode", ["hang", "submit, then hang"])
def test_after_a_crash_while_it_settles_the_worker_pays_once(
    stack, remote, path, facilitator, node, mode
):
    asked = required(remote.client.send("POST", path))
    headers = {"PAYMENT-SIGNATURE": encoded(Wallet().payment(asked))}
    facilitator.mode = mode
    with ThreadPoolExecutor(1) as pool:
        cut = pool.submit(remote.client.send, "POST", path, headers=headers)
        eventually(lambda: len(facilitator.asked) == 1)
        stack.kill("web")
        assert cut.exception() is not None
    facilitator.mode = "submit"
    stack.start_web()
    remote.move_to(stack)
    stack.start_worker()
    eventually(lambda: remote.client.send("POST", path, headers=headers).status == 200)
    assert held(node, address(asked)) == PRICE


@only_once
def test_facilitators_that_hang_stop_nobody_else(stack, remote, path, facilitator):
    """At most two requests of a process wait for them. All others are answered.

    A request that finds no slot to ask the node makes no order. It gets 503, and can be repeated.
    """
    facilitator.mode = "hang"
    wallet = Wallet()
    prices = [required(remote.send("POST", path)) for _ in range(COPIES)]
    payments = [{"PAYMENT-SIGNATURE": encoded(wallet.payment(each))} for each in prices]

    def pay(headers):
        return remote.client.send("POST", path, headers=headers)

    with ThreadPoolExecutor(COPIES) as pool:
        waiting = [pool.submit(pay, each) for each in payments]
        eventually(lambda: sum(each.done() for each in waiting) >= COPIES - 4)
        assert new_tenant(stack).client.send("GET", "/healthz").status == 200
        facilitator.wake()
        statuses = {each.result().status for each in waiting}
        assert 202 in statuses <= {202, 503}
    assert 1 <= len(facilitator.asked) <= 4
    facilitator.mode = "submit"
    stack.start_worker()
    eventually(lambda: {pay(each).status for each in payments} == {200})
    assert len({pay(each).json["id"] for each in payments}) == COPIES


@only_once
def test_forged_signatures_beside_a_node_that_hangs_stop_nobody_else(
    stack, remote, path, facilitator, bad_node
):
    def forged(_):
        payment = Wallet().payment(required(remote.send("POST", path)))
        payment["payload"]["signature"] = "0x" + "11" * 65
        return {"PAYMENT-SIGNATURE": encoded(payment)}

    def send(headers):
        answer = remote.client.send("POST", path, headers=headers)
        assert answer.status == 503 or "not the payer's" in answer.json["detail"]
        return answer.status

    page = f"{remote.public}/events"
    with ThreadPoolExecutor(COPIES) as pool:
        payments = [forged(each) for each in range(COPIES)]
        good = [pool.submit(send, each) for each in payments]
        beside_good = usual_seconds(stack.url, page)
        assert 402 in {each.result() for each in good} <= {402, 503}
        bad_node.hang()
        bad_node.requests = 0
        hanging = [pool.submit(send, each) for each in payments]
        assert_wait_little(stack.url, page, beside_good)
        most_waiting = PROCESSES * LOOKS_AT_ONCE
        eventually(lambda: sum(each.done() for each in hanging) >= COPIES - most_waiting)
        bad_node.well()
        assert {each.result() for each in hanging} == {503}
    assert bad_node.requests <= most_waiting
    assert facilitator.asked == []


class TestTwoNetworks:
    """An order that can be paid on two chains, each with a facilitator of its own."""

    @pytest.fixture
    def second_facilitator(self, second_node):
        with Facilitator(second_node) as running:
            yield running

    @pytest.fixture
    def variables(self, variables, second_node, second_facilitator):
        return {
            **variables,
            f"RPC_URL_{SECOND}": second_node.url,
            f"X402_FACILITATOR_URL_{SECOND}": second_facilitator.url,
        }

    @pytest.fixture
    def path(self, stack, remote):
        ticket = remote.ticket(capacity=100, chain_ids=[CHAIN, SECOND])
        in_process(stack, "worker", "--once")
        slug = remote.path.rpartition("/")[2]
        return f"/v1/x402/tenants/{slug}/tickets/{ticket['id']}/orders"

    @pytest.mark.parametrize("mode", ["hang", "submit, then hang"])
    def test_after_a_crash_while_the_second_one_settles_the_worker_pays_once(
        self, stack, remote, path, facilitator, second_facilitator, node, second_node, mode
    ):
        asked = required(remote.client.send("POST", path))
        first, second = (
            {"PAYMENT-SIGNATURE": encoded(Wallet().payment(asked, each))}
            for each in (CHAIN, SECOND)
        )
        second_facilitator.mode = mode
        with ThreadPoolExecutor(1) as pool:
            cut = pool.submit(remote.client.send, "POST", path, headers=second)
            eventually(lambda: len(second_facilitator.asked) == 1)
            stack.kill("web")
            assert cut.exception() is not None
        second_facilitator.mode = "submit"
        stack.start_web()
        remote.move_to(stack)
        # The client tries the other network, and is told to wait.
        assert remote.client.send("POST", path, headers=first).status in (200, 202)
        stack.start_worker()
        eventually(lambda: remote.client.send("POST", path, headers=second).status == 200)
        received = [held(each, address(asked)) for each in (node, second_node)]
        assert received == [0, PRICE]
        assert facilitator.asked == []

    def test_copies_for_both_networks_at_once_settle_once(
        self, stack, remote, path, facilitator, second_facilitator, node, second_node
    ):
        asked = required(remote.client.send("POST", path))
        payments = [
            {"PAYMENT-SIGNATURE": encoded(Wallet().payment(asked, each))}
            for each in [CHAIN, SECOND] * (COPIES // 2)
        ]

        def send(number):
            return remote.client.send("POST", path, headers=payments[number])

        stack.start_worker()
        with ThreadPoolExecutor(COPIES) as pool:
            answers = list(pool.map(send, range(COPIES)))
        assert_one_order(answers, send)
        assert len(facilitator.asked) + len(second_facilitator.asked) == 1
        received = [held(each, address(asked)) for each in (node, second_node)]
        assert sorted(received) == [0, PRICE]

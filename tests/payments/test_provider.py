"""The provider stand-in does what its methods say, in memory and over HTTP."""

import pytest

from tests.support.bad_node import BadNode, short_timeout
from tests.support.fake_chain import TRANSFER, FakeChain, Send
from tests.support.provider.responses import GATEWAY_TIMEOUT, SILENCE
from tests.support.provider.rules import Provider, answers_of
from ticketing.chain.rpc import RpcClient, RpcError

pytestmark = pytest.mark.one_database

TOKEN = "0x" + "70" * 20
BUYER = "0x" + "b0" * 20
START = 1_800_000_000


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def chain():
    """Blocks 0..8 are empty, 9..12 have one transfer each."""
    chain = FakeChain(31337, TOKEN, 6, START)
    for _ in range(4):
        chain.send([Send(BUYER, "0x" + "aa" * 20, 5)], START)
    return chain


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def provider(chain, clock):
    return Provider(answers_of(chain.batch), clock)


def question(number, method, *params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


def logs_question(first, last, number=0):
    topics = [TRANSFER, None, ["0x" + "00" * 12 + "aa" * 20]]
    asked = {"address": TOKEN, "topics": topics, "fromBlock": hex(first), "toBlock": hex(last)}
    return question(number, "eth_getLogs", asked)


def blocks_of(answer):
    return [int(log["blockNumber"], 16) for log in answer["result"]]


def read(provider, first, last):
    """Return the blocks whose logs are in the response."""
    (answer,) = provider.respond([logs_question(first, last)])
    return blocks_of(answer)


def header(provider, tag):
    (answer,) = provider.respond([question(0, "eth_getBlockByNumber", tag, False)])
    return answer.get("result", answer.get("error"))


def call_at(provider, tag):
    data = {"to": TOKEN, "data": "0x70a08231" + "aa" * 32}
    (answer,) = provider.respond([question(0, "eth_call", data, tag)])
    return "result" in answer


def test_it_counts_what_it_is_asked(provider):
    provider.respond([logs_question(1, 9), question(1, "eth_chainId")])
    provider.max_range(3)
    provider.respond([logs_question(1, 9)])
    assert (provider.requests, provider.batches) == (2, [2, 1])
    assert provider.calls == {"eth_getLogs": 2, "eth_chainId": 1}
    assert (provider.asked_ranges, provider.ranges) == ([(1, 9)] * 2, [(1, 9)])


def test_gaps(provider):
    provider.omit_tip_logs(2)
    assert read(provider, 0, 12) == [9, 10]
    assert header(provider, hex(12)) is not None
    provider.well()
    provider.omit_logs(every=2)
    assert [len(read(provider, 0, 12)) for _ in range(4)] == [4, 0, 4, 0]
    provider.well()
    provider.omit_new_logs()
    assert [read(provider, 9, 10), read(provider, 9, 12), read(provider, 9, 12)] == [
        [],
        [9, 10],
        [9, 10, 11, 12],
    ]


def test_nodes_that_lag(provider):
    provider.lag_head(3)
    assert header(provider, "latest")["number"] == hex(9)
    assert header(provider, hex(10)) is None
    assert read(provider, 0, 12) == [9]
    assert read(provider, 10, 12) == []
    assert not call_at(provider, hex(10)) and call_at(provider, hex(9))
    provider.well()
    provider.scatter(3)
    first, second = provider.respond([logs_question(0, 12, 0), logs_question(0, 12, 1)])
    assert (len(blocks_of(first)), len(blocks_of(second))) == (4, 1)


@pytest.mark.parametrize("how", ["error", "items", "rest", "http"])
def test_small_batches(provider, how):
    provider.max_batch(1, how=how)
    asked = [question(0, "eth_chainId"), question(1, "eth_chainId")]
    assert provider.respond(asked[:1])[0]["result"] == hex(31337)
    answer = provider.respond(asked)
    if how == "http":
        assert answer.status == 413
    else:
        answers = answer if isinstance(answer, list) else [answer]
        errors = [each for each in answers if "error" in each]
        ids = {"error": [None], "items": [0, 1], "rest": [1]}[how]
        assert [each["id"] for each in errors] == ids
        assert all("batch" in each["error"]["message"] for each in errors)


@pytest.mark.parametrize("how", ["error", "results", "504", "silence", "cut off", "too large"])
def test_narrow_ranges(provider, how):
    provider.max_range(4, how=how)
    assert read(provider, 9, 12) == [9, 10, 11, 12]
    answer = provider.respond([logs_question(8, 12)])
    if how in ("error", "results"):
        assert answer[0]["error"]["code"] == {"error": -32602, "results": -32005}[how]
    else:
        assert answer.status == {"504": 504, "silence": None}.get(how, 200)
        assert answer.is_cut_off == (how == "cut off")


@pytest.mark.parametrize("how", ["http", "error", "items"])
def test_rates(provider, clock, how):
    provider.max_rate(2, seconds=10, how=how, retry_after=7)
    asked = [question(0, "eth_chainId")]
    assert "result" in provider.respond(asked)[0]
    clock.now = 5
    assert "result" in provider.respond(asked)[0]
    refused = provider.respond(asked)
    if how == "http":
        assert (refused.status, refused.headers) == (429, {"Retry-After": "7"})
    else:
        (refused,) = refused if how == "items" else [refused]
        assert refused["error"]["code"] == -32005
    clock.now = 11
    assert "result" in provider.respond(asked)[0]
    provider.well()
    provider.max_rate(0)
    assert provider.respond(asked).status == 429


def test_nodes_that_keep_little(provider):
    provider.prune(3)
    assert header(provider, hex(8)) is None and header(provider, hex(9)) is not None
    assert provider.respond([logs_question(8, 12)])[0]["error"]["code"] == 4444
    assert read(provider, 9, 12)
    provider.well()
    provider.prune(3, headers="error")
    assert header(provider, hex(8))["message"] == "header not found"
    provider.prune_state(3)
    assert call_at(provider, "latest") and call_at(provider, hex(9))
    assert not call_at(provider, hex(8))
    provider.well()
    provider.prune_state()
    assert call_at(provider, "latest") and not call_at(provider, hex(12))


def test_another_chain(provider, chain):
    provider.misroute(every=2)
    asked = [question(0, "eth_chainId"), question(1, "eth_getBlockByNumber", "latest", False)]
    right, wrong = provider.respond(asked), provider.respond(asked)
    assert [answer["result"] == hex(31337) for answer in (right[0], wrong[0])] == [True, False]
    assert wrong[1]["result"]["number"] == right[1]["result"]["number"] == hex(chain.head[0])
    assert wrong[1]["result"]["hash"] != right[1]["result"]["hash"]
    provider.well()
    provider.misroute(every=2, items=True, higher=100)
    _, latest = provider.respond(asked)
    assert latest["result"]["number"] == hex(112)
    assert read(provider, 0, 12) and not read(provider, 0, 12)


def test_pages_and_silence(provider):
    provider.http(GATEWAY_TIMEOUT, every=2)
    provider.hang("eth_call")
    asked = [question(0, "eth_chainId")]
    assert [provider.respond(asked) == GATEWAY_TIMEOUT for _ in range(3)] == [False, True, False]
    provider.well()
    provider.hang("eth_call")
    call = question(1, "eth_call", {"to": TOKEN, "data": "0x313ce567"}, "latest")
    assert provider.respond([*asked, call]) == SILENCE
    assert provider.respond(asked) != SILENCE


HEAD = ("eth_getBlockByNumber", ["latest", False])


def test_over_http_it_is_as_in_memory(node, monkeypatch):
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    with BadNode(node.url) as bad_node:
        client = RpcClient([bad_node.url])
        assert client.batch([HEAD, HEAD])[0]["number"]
        bad_node.max_batch(1)
        assert len(client.batch([HEAD, HEAD])) == 2
        for misbehave in (
            lambda: bad_node.http(GATEWAY_TIMEOUT),
            lambda: bad_node.max_range(1, how="cut off"),
            lambda: bad_node.hang("eth_getLogs"),
        ):
            bad_node.well()
            misbehave()
            with short_timeout(), pytest.raises(RpcError):
                client.batch([("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x2"}])])
        assert bad_node.batches == [2, 2, 1, 1, 1, 1, 1]

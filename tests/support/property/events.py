"""What can happen in the property test's world, drawn by hypothesis: see world.py."""

from typing import Any

from hypothesis import strategies as st

from tests.support.property.core import PRICE

who = st.integers(0, 4)
seats = st.integers(1, 3)
depths = st.integers(1, 6)
places = st.lists(st.none() | st.integers(0, 6), max_size=3)
amounts = st.sampled_from(
    ["all", "all", "part", "rest", "too much", "mote", "nearly", "nearly", "just short"]
)
seconds = st.sampled_from([1, 61, 700, 1000, 5000, 100_000, 300_000])


def event(name: str, *arguments: Any) -> Any:
    """Draw the arguments of an event."""
    return st.tuples(st.just(name), st.tuples(*arguments))


# Orders.

chains = st.sampled_from([0, 0, 1])
plain = event("preflight", st.sampled_from([False, False, False, True]), seats, st.booleans())
carts = event("order_cart", st.tuples(*[st.integers(0, 2)] * 3))
codes = st.integers(0, 2)
alone = st.tuples(st.just(0), st.just(0), st.integers(1, 2))
vouchered = event("order_with_voucher", codes, alone | alone | st.tuples(*[st.integers(0, 2)] * 3))
preflights = plain | plain | carts | vouchered
payments = event("pay", st.lists(st.tuples(who, amounts), min_size=1, max_size=3), st.booleans())
purchases = event("purchase", who)
cancelations = event("cancel", who) | event("extend_hold", who)
elsewhere = event("pay_elsewhere", who, amounts)
homes = event("choose_home", who, chains) | event("ask_back", who, chains)
prices = st.sampled_from([PRICE - 100, PRICE, PRICE + 100])
return_terms = event(
    "change_returns", st.sampled_from(["when_resold"] * 3 + ["none"]), st.sampled_from([0, 10, 50])
)
tolerances = st.sampled_from([(5, 1_500_000), (5, 1_500_000), (5, 30), (0, 1_500_000)])
settings = event("change_tolerance", tolerances)
terms = event("change_terms", prices, st.sampled_from([None, None, 1, 700, 5000]))
ends_of_sale = event("end_sale", st.booleans(), st.sampled_from([None, True, False]))
limits = event("limit_voucher", codes, st.integers(1, 3))
ends_of_vouchers = event("end_voucher", codes, st.sampled_from([None, None, 61, 5000]))
values = event("revalue_voucher", codes, st.booleans())
# Rare: nobody can use it afterwards.
of_vouchers = st.one_of(
    limits, limits, ends_of_vouchers, ends_of_vouchers, values, event("disable_voucher", codes)
)
sizes = event("set_capacity", st.none() | st.integers(0, 6))

# Early confirmation: on or off, and in how many hours the doors open.

hours = st.sampled_from([0, 20, 48, 48])
earliness = event("set_early", st.sampled_from([True, True, False]), hours)
mostly_early = event(
    "set_early", st.sampled_from([True] * 4 + [False]), st.sampled_from([20, 48, 48])
)

# The wallet.

collects = event(
    "collect",
    st.lists(who, min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([False, False, True]),
)
wallets = event("change_wallet", st.integers(0, 1))

# Admissions.

which = st.sampled_from([0, 0, 0, 1, 2])
voids = event("void", who, st.sampled_from([True, True, False]), st.booleans())
reissues = event("reissue", who)
invitations = event("invite", st.booleans(), seats)
names = event("name_holder", who, st.sampled_from(["Ada", "Bob", None]))
offers = event("offer", who)
canceled_offers = event("cancel_offer", who)
acceptances = event("accept", which)
returned = event("give_back", who)
kept = event("keep", who)
swaps = event("sell_on")
of_returns = st.one_of(returned, returned, kept, swaps)
of_admissions = st.one_of(
    voids,
    voids,
    reissues,
    names,
    offers,
    offers,
    canceled_offers,
    acceptances,
    acceptances,
    of_returns,
)

# Refunds.

statements = event("state_address", who, st.integers(0, 3))
kinds = st.sampled_from(["payer", "payer", "stated", "friend"])
shares = st.sampled_from(["all", "all", "half", "short", "double"])
sent_back = event(
    "send_refunds",
    st.lists(st.tuples(who, kinds, shares), min_size=1, max_size=2),
    st.booleans(),
)
settlements = event("settle_refund", who, which, st.sampled_from([False, False, True]))
waivers = event("waive", who, st.sampled_from([0, 0, 0, 1, -1]))
of_refunds = st.one_of(statements, sent_back, settlements, settlements, waivers)

# The door.

ways = st.sampled_from(["qr", "qr", "code", "id", "old"])
ago = st.sampled_from([0, 0, 5, 30])
scanned = st.tuples(who, ways, st.booleans(), ago)
scans = event("scan", who, st.lists(scanned, min_size=1, max_size=4))
undos = event("undo", who, which, ago)
at_the_door = st.one_of(
    scans,
    scans,
    undos,
    event("send_again", who, which),
    event("sync", who),
)

# The chain, the node and the workers.

mining = event("mine", st.integers(1, 4))
reorganizations = event("reorganize", depths, places, st.integers(0, 2), chains)
times = event("pass_time", seconds, st.booleans())
faults = st.sampled_from(
    [
        *(("lag_head", (blocks,), {}) for blocks in (1, 2)),
        *(("scatter", (blocks,), {"every": every}) for blocks in (1, 3) for every in (2, 3)),
        *(("omit_tip_logs", (blocks,), {}) for blocks in (1, 3)),
        *(("omit_logs", (), {"every": every}) for every in (1, 2)),
        ("omit_new_logs", (), {}),
        *(("max_batch", (most,), {"how": how}) for most in (1, 3) for how in ("error", "items")),
        *(("max_range", (2,), {"how": how}) for how in ("error", "results", "504", "silence")),
        *(
            ("prune", (blocks,), {"headers": how})
            for blocks in (4, 20)
            for how in ("null", "error")
        ),
        ("prune_state", (), {}),
        *(("max_rate", (5,), {"seconds": 4, "how": how}) for how in ("http", "items")),
        *(("misroute", (), {"every": n, "items": items}) for n in (3, 7) for items in (0, 1)),
    ]
)
nodes = event("set_node", st.just(False), st.lists(faults, max_size=2), chains) | event(
    "set_node", st.just(True), st.just([]), chains
)
looks = event("look_after_silence", st.integers(0, 1))

# Events in the middle of another one.

anything = st.one_of(
    event("look_after_silence", st.just(2)),
    preflights,
    payments,
    elsewhere,
    homes,
    purchases,
    cancelations,
    collects,
    wallets,
    mining,
    reorganizations,
    times,
    nodes,
    terms,
    settings,
    return_terms,
    of_vouchers,
    ends_of_sale,
    sizes,
    earliness,
    invitations,
    of_admissions,
    of_refunds,
    at_the_door,
)
interruptions = st.one_of(event("kill"), event("lose_connection"))
mishaps = st.tuples(
    st.integers(1, 15) | st.integers(1, 40),
    st.lists(interruptions, min_size=1, max_size=1) | st.lists(anything, min_size=1, max_size=3),
)
maybe = st.none() | mishaps

"""The tasks that the worker does for each chain, besides to watch it."""

from collections.abc import Callable

from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.services.wallets import code_checks
from ticketing.services.x402 import continuing
from ticketing.worker import facilitator_check, payer_check, witness_check


def _ask_about_wallets(chain: Chain, _: Config) -> None:
    """Ask one chain about the wallets that wait for its answer. RpcError."""
    code_checks.ask(chain.chain_id, connect(chain).account_kind)


CHAIN_TASKS: tuple[tuple[str, Callable[[Chain, Config], None]], ...] = (
    ("facilitator", facilitator_check.ask),
    ("x402", continuing.go_on),
    ("wallets", _ask_about_wallets),
    ("witnesses", witness_check.ask),
    ("payers", payer_check.ask),
)
"""The name of each, and its function. It may raise RpcError. Each chain has a thread for each."""

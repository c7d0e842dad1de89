"""The tasks that the worker does for each chain, besides to watch it."""

from collections.abc import Callable

from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.services.x402 import continuing
from ticketing.worker import facilitator_check, payer_check, wallet_checks, witness_check

CHAIN_TASKS: tuple[tuple[str, Callable[[Chain, Config], None]], ...] = (
    ("facilitator", facilitator_check.ask),
    ("x402", continuing.go_on),
    ("wallets", wallet_checks.ask),
    ("witnesses", witness_check.ask),
    ("payers", payer_check.ask),
)
"""The name of each, and its function. It may raise RpcError. Each chain has a thread for each."""

"""Ask a chain what is at addresses of wallets, if it was not possible before."""

from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.services.wallets import code_checks


def ask(chain: Chain, _: Config) -> None:
    """Ask one chain about the wallets that wait for its answer. RpcError."""
    code_checks.ask(chain.chain_id, connect(chain).account_kind)

"""The known chains. The environment enables some of them.

Chain ids are EIP-155 ids. The addresses of USDC are published by its issuer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol

LOCAL_CHAIN_ID, SECOND_LOCAL_CHAIN_ID = 31337, 31338
LOCAL_CHAIN_IDS = (LOCAL_CHAIN_ID, SECOND_LOCAL_CHAIN_ID)
"""The chains of a developer's machine."""

_LOCAL_TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
_LOCAL_LOOK_ALIKE = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
"""The first two contracts of the first account of a developer's node: it mints in between."""


class TokenMaker(Protocol):
    """Makes a bearer token for each request: see facilitator_key.py, which needs two libraries."""

    def bearer(self, method: str, url: str) -> str:
        """Return the token for one request."""


@dataclass(frozen=True)
class Facilitator:
    """The operator's facilitator: it submits signed transfers (EIP-3009), and pays their gas.

    It knows us by a fixed `token`, or by a `key` that signs a token for each request.
    """

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    key: TokenMaker | None = field(default=None, repr=False)

    def bearer(self, method: str, url: str) -> str | None:
        """Return the bearer token of a request. None: it needs none."""
        return self.token if self.key is None else self.key.bearer(method, url)


@dataclass(frozen=True)
class LookAlike:
    """A token that people take for the one that is paid with. Nothing is ever paid with it."""

    symbol: str
    token_address: str
    decimals: int = 6


@dataclass(frozen=True)
class Chain:
    """A chain, and the token for payments on it.

    `decimals` is None for a chain outside the registry until the worker has read them.
    `confirmations`: a payment is final with so many blocks, its own block included.
    `early_confirmations`: with so many blocks an order may be confirmed before its payment is
    final. None: never. It is less than `confirmations`.
    `block_seconds`: how long a block takes, about. None: unknown.
    `has_receivers`: the worker has proved that receivers have their addresses on this chain.
    `least_sensible_price` is in micro-units: below it, collecting a payment may cost more than it
    brings. 0 on a local chain, where gas is free.
    `exchange_names`: what else exchanges call it. `wallet_rpc_url`: a public node for a wallet that
    does not know the chain, shown to everybody. `coin` pays for gas.
    `trust_coin`: how Trust Wallet numbers it. None: not known there.
    `look_alikes`: other tokens that are looked for at the addresses of orders, three at most.
    """

    chain_id: int
    name: str
    token_address: str
    decimals: int | None
    confirmations: int
    symbol: str | None = "USDC"
    rpc_urls: tuple[str, ...] = field(default=(), repr=False)
    facilitator: Facilitator | None = None
    has_receivers: bool = False
    least_sensible_price: int = 500_000
    early_confirmations: int | None = None
    block_seconds: float | None = None
    exchange_names: tuple[str, ...] = ()
    wallet_rpc_url: str | None = None
    explorer_url: str | None = None
    coin: str = "ETH"
    trust_coin: int | None = None
    look_alikes: tuple[LookAlike, ...] = ()

    def enabled(
        self,
        rpc_urls: tuple[str, ...],
        token_address: str | None,
        confirmations: int | None,
        facilitator: Facilitator | None = None,
        early_confirmations: int | None = None,
        wallet_rpc_url: str | None = None,
    ) -> "Chain":
        """Return this chain with its node URLs and the settings of the environment.

        `early_confirmations` 0: never. None: those of the registry.

        Example: Polygon is final with 64 blocks, and early with 16. With 10 confirmations, no
        payment is early: all are final before.
        """
        final = confirmations or self.confirmations
        early = self.early_confirmations if early_confirmations is None else early_confirmations
        return replace(
            self,
            rpc_urls=rpc_urls,
            token_address=token_address or self.token_address,
            confirmations=final,
            facilitator=facilitator,
            early_confirmations=early if early and early < final else None,
            wallet_rpc_url=wallet_rpc_url or self.wallet_rpc_url,
        )


def outside(chain_id: int, token_address: str) -> Chain:
    """Return a chain outside the registry. The worker reads its token's decimals."""
    return Chain(chain_id, _unknown_name(chain_id), token_address, None, 12, None)


def name_of(chain_id: int) -> str:
    """Return the name of a chain."""
    known = REGISTRY.get(chain_id)
    return _unknown_name(chain_id) if known is None else known.name


def _unknown_name(chain_id: int) -> str:
    return f"Chain {chain_id}"


REGISTRY: Mapping[int, Chain] = MappingProxyType(
    {
        chain.chain_id: chain
        for chain in (
            Chain(
                1,
                "Ethereum",
                "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
                6,
                12,
                least_sensible_price=25_000_000,
                early_confirmations=2,
                block_seconds=12,
                exchange_names=("ERC20", "Ethereum (ERC20)"),
                wallet_rpc_url="https://ethereum-rpc.publicnode.com",
                explorer_url="https://etherscan.io",
                trust_coin=60,
                look_alikes=(LookAlike("USDT", "0xdAC17F958D2ee523a2206206994597C13D831ec7"),),
            ),
            Chain(
                10,
                "OP Mainnet",
                "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
                6,
                30,
                early_confirmations=1,
                block_seconds=2,
                exchange_names=("Optimism", "OP"),
                wallet_rpc_url="https://mainnet.optimism.io",
                explorer_url="https://optimistic.etherscan.io",
                trust_coin=10_000_070,
                look_alikes=(
                    LookAlike("USDC.e", "0x7F5c764cBc14f9669B88837ca1490cCa17c31607"),
                    LookAlike("USDT", "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58"),
                ),
            ),
            Chain(
                137,
                "Polygon PoS",
                "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
                6,
                64,
                early_confirmations=16,
                block_seconds=2,
                exchange_names=("Polygon", "MATIC", "POL"),
                wallet_rpc_url="https://polygon-bor-rpc.publicnode.com",
                explorer_url="https://polygonscan.com",
                coin="POL",
                trust_coin=966,
                look_alikes=(
                    LookAlike("USDC.e", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"),
                    LookAlike("USDT", "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
                ),
            ),
            Chain(
                8453,
                "Base",
                "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
                6,
                30,
                early_confirmations=1,
                block_seconds=2,
                exchange_names=("Base Mainnet",),
                wallet_rpc_url="https://mainnet.base.org",
                explorer_url="https://basescan.org",
                trust_coin=8453,
                look_alikes=(
                    LookAlike("USDbC", "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
                    LookAlike("USDT", "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2"),
                ),
            ),
            Chain(
                42161,
                "Arbitrum One",
                "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
                6,
                120,
                early_confirmations=1,
                block_seconds=0.25,
                exchange_names=("Arbitrum", "ARB"),
                wallet_rpc_url="https://arb1.arbitrum.io/rpc",
                explorer_url="https://arbiscan.io",
                trust_coin=10_042_221,
                look_alikes=(
                    LookAlike("USDC.e", "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8"),
                    LookAlike("USDT", "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
                ),
            ),
            Chain(
                84532,
                "Base Sepolia",
                "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                6,
                3,
                early_confirmations=1,
                block_seconds=2,
                wallet_rpc_url="https://sepolia.base.org",
                explorer_url="https://sepolia.basescan.org",
            ),
            Chain(
                11155111,
                "Sepolia",
                "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
                6,
                3,
                early_confirmations=2,
                block_seconds=12,
                wallet_rpc_url="https://ethereum-sepolia-rpc.publicnode.com",
                explorer_url="https://sepolia.etherscan.io",
            ),
            Chain(
                LOCAL_CHAIN_ID,
                "Local",
                _LOCAL_TOKEN,
                6,
                1,
                least_sensible_price=0,
                early_confirmations=1,
                look_alikes=(LookAlike("USDC.e", _LOCAL_LOOK_ALIKE),),
            ),
            Chain(
                SECOND_LOCAL_CHAIN_ID,
                "Local 2",
                _LOCAL_TOKEN,
                6,
                1,
                least_sensible_price=0,
                early_confirmations=1,
                look_alikes=(LookAlike("USDC.e", _LOCAL_LOOK_ALIKE),),
            ),
        )
    }
)

LOOK_ALIKES: Mapping[str, LookAlike] = MappingProxyType(
    {each.token_address: each for chain in REGISTRY.values() for each in chain.look_alikes}
)
"""The look-alikes of all chains, by address. They are dollars of others: never add them up."""

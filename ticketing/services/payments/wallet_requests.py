"""What wallets and exchanges are told of an order, besides its address and amount.

Links that open a wallet contain the token, the network, the address and the amount, and nothing
else: the company behind the wallet sees them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ticketing.chain.registry import Chain
from ticketing.config import Config
from ticketing.formats import number
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains

_SCHEME = "ethereum:"
_METAMASK = "https://link.metamask.io/send/"
_TRUST = "https://link.trustwallet.com/send"
_COIN_DECIMALS = 18


class WalletLink(NamedTuple):
    """A link that opens a wallet on a phone with the payment filled in."""

    wallet: str
    url: str


@dataclass(frozen=True)
class WalletRequests:
    """What the page of an order tells wallets and exchanges.

    `new_network`: what `wallet_addEthereumChain` needs, as JSON (EIP-3085). None: no public node is
    known. `exchange_names`: what else exchanges call the network.
    """

    links: Sequence[WalletLink]
    new_network: str | None
    exchange_names: Sequence[str]


def of(intent: PaymentIntent, config: Config) -> WalletRequests:
    """Return what to tell about an intent whose payment details are set."""
    chain = chains.known_as(intent.chain_id, config)
    if chain is None:
        return WalletRequests(_links(intent, None), None, ())
    return WalletRequests(
        _links(intent, chain.trust_coin), _new_network(chain), chain.exchange_names
    )


def _links(intent: PaymentIntent, trust_coin: int | None) -> Sequence[WalletLink]:
    if intent.payment_uri is None:
        return ()
    metamask = WalletLink("MetaMask", _METAMASK + intent.payment_uri.removeprefix(_SCHEME))
    if trust_coin is None:
        return (metamask,)
    asset = f"c{trust_coin}_t{intent.token_address}"
    query = f"asset={asset}&address={intent.address}&amount={number(intent.amount_due)}"
    return (metamask, WalletLink("Trust Wallet", f"{_TRUST}?{query}"))


def _new_network(chain: Chain) -> str | None:
    if chain.wallet_rpc_url is None:
        return None
    coin = {"name": chain.coin, "symbol": chain.coin, "decimals": _COIN_DECIMALS}
    network = {
        "chainId": hex(chain.chain_id),
        "chainName": chain.name,
        "rpcUrls": [chain.wallet_rpc_url],
        "nativeCurrency": coin,
    }
    explorer = {"blockExplorerUrls": [chain.explorer_url]} if chain.explorer_url else {}
    return json.dumps({**network, **explorer})

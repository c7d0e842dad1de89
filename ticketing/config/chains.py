"""The chains that can be paid on, from RPC_URL_* and the variables that belong to it."""

import re
from collections.abc import Mapping

from ticketing.chain import address, registry
from ticketing.chain.registry import Chain
from ticketing.config import x402
from ticketing.config.variables import ConfigError, integer, is_http, is_visible, listed, split_url
from ticketing.constants import MAX_SAFE_INTEGER, MOST_CONFIRMATIONS

PREFIXES = (
    r"(RPC_URL|TOKEN_ADDRESS|(?:EARLY_)?CONFIRMATIONS|WALLET_RPC_URL"
    rf"|{'|'.join(x402.VARIABLES)})_"
)
"""What the names of all variables of one chain begin with: its chain id follows."""

_VARIABLE = re.compile(rf"{PREFIXES}(?P<chain_id>.*)")
_OF_ENABLED = ("WALLET_RPC_URL", *x402.VARIABLES)
_CHAIN_ID = re.compile(r"[1-9][0-9]{0,15}")


def chains(environ: Mapping[str, str]) -> dict[int, Chain]:
    """Return the chains that have an RPC_URL, by their chain id. ConfigError."""
    for name in environ:
        match = _VARIABLE.fullmatch(name)
        if match is None:
            continue
        chain_id = match["chain_id"]
        if not (_CHAIN_ID.fullmatch(chain_id) and int(chain_id) <= MAX_SAFE_INTEGER):
            raise ConfigError(f"{name} must end in an EIP-155 chain id")
        if match[1] in _OF_ENABLED and f"RPC_URL_{chain_id}" not in environ:
            raise ConfigError(f"{name} needs RPC_URL_{chain_id}")
    return {
        chain_id: _chain(environ, chain_id)
        for chain_id in sorted(
            int(name.removeprefix("RPC_URL_")) for name in environ if name.startswith("RPC_URL_")
        )
    }


def _chain(environ: Mapping[str, str], chain_id: int) -> Chain:
    rpc_urls = tuple(listed(environ, f"RPC_URL_{chain_id}"))
    if not rpc_urls or not all(is_http(f"RPC_URL_{chain_id}", each) for each in rpc_urls):
        raise ConfigError(f"RPC_URL_{chain_id} must be an http:// or https:// URL, or several")
    token_address = _token_address(environ, f"TOKEN_ADDRESS_{chain_id}")
    confirmations = None
    if f"CONFIRMATIONS_{chain_id}" in environ:
        confirmations = integer(environ, f"CONFIRMATIONS_{chain_id}", 1, 1, MOST_CONFIRMATIONS)
    early = None
    if f"EARLY_CONFIRMATIONS_{chain_id}" in environ:
        early = integer(environ, f"EARLY_CONFIRMATIONS_{chain_id}", 0, 0, MOST_CONFIRMATIONS)
    chain = registry.REGISTRY.get(chain_id)
    if chain is None and early:
        raise ConfigError(
            f"EARLY_CONFIRMATIONS_{chain_id} must be 0: the chain is not in the registry, so all"
            " its payments must be final"
        )
    if chain is None and f"WALLET_RPC_URL_{chain_id}" in environ:
        raise ConfigError(
            f"WALLET_RPC_URL_{chain_id} is for chains of the registry only: wallets also need the"
            " name of the chain and of its coin, which are not known"
        )
    if chain is None:
        if token_address is None:
            raise ConfigError(
                f"RPC_URL_{chain_id} enables a chain that is not in the registry:"
                f" set TOKEN_ADDRESS_{chain_id} too"
            )
        chain = registry.outside(chain_id, token_address)
    return chain.enabled(
        rpc_urls,
        token_address,
        confirmations,
        x402.facilitator(environ, chain_id),
        early,
        _wallet_rpc_url(environ, f"WALLET_RPC_URL_{chain_id}"),
    )


def _wallet_rpc_url(environ: Mapping[str, str], name: str) -> str | None:
    """Return the URL of a public node. Wallets take https only, or this machine. ConfigError."""
    if name not in environ:
        return None
    url = split_url(name, environ[name])
    is_local = url.scheme == "http" and url.hostname in ("localhost", "127.0.0.1")
    is_good = url.hostname and (url.scheme == "https" or is_local) and "@" not in url.netloc
    if not is_good or not is_visible(environ[name]):
        raise ConfigError(f"{name} must be an https:// URL without a password: everybody sees it")
    return environ[name]


def _token_address(environ: Mapping[str, str], name: str) -> str | None:
    if name not in environ:
        return None
    try:
        return address.parse(environ[name])
    except ValueError as error:
        raise ConfigError(f"{name} must be an address, but is {error}") from None

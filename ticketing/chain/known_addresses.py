"""Addresses that everybody knows and that are nobody's wallet. No node is asked.

People copy them from explorers instead of their own. The addresses are published by those who
deployed the contracts: Multicall3, Permit2 and CreateX by their repositories, entry points in
ERC-4337, Safe in safe-deployments, predeploys in the specification of the OP Stack.

>>> CONTRACTS["0x000000000022D473030F116dDEE9F6B43aC78BA3"]
'Permit2'
>>> is_of_network("0x4200000000000000000000000000000000000010")
True
"""

from collections.abc import Mapping
from types import MappingProxyType

from ticketing.chain import multicall

_FIRST_USUAL = 0x10000
"""Chains have contracts of their own below it: precompiles, and those of Arbitrum and Polygon."""

_PREDEPLOYS = range(0x4200 << 144, (0x4200 << 144) + 0x10000)
"""Contracts that chains of the OP Stack have from their first block on."""

_BURNING = frozenset(
    {
        "0x000000000000000000000000000000000000dead",
        "0xdead000000000000000000000000000000000000",
        "0xdead000000000000000042069420694206942069",
        "0xdeaddeaddeaddeaddeaddeaddeaddeaddeaddead",
        "0xdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
        *("0x" + digit * 40 for digit in "123456789abcdef"),
    }
)
"""Addresses to which people send what nobody shall have, and that stand for a chain's own coin."""

CONTRACTS: Mapping[str, str] = MappingProxyType(
    {
        multicall.ADDRESS: "Multicall3",
        "0x000000000022D473030F116dDEE9F6B43aC78BA3": "Permit2",
        # What smart wallets pay their fees to (ERC-4337).
        "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789": "EntryPoint 0.6",
        "0x0000000071727De22E5E9d8BAf0edAc6f37da032": "EntryPoint 0.7",
        "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108": "EntryPoint 0.8",
        "0x433709009B8330FDa32311DF1C2AFA402eD8D009": "EntryPoint 0.9",
        # What deploys contracts at addresses that are known before (CREATE2).
        "0xba5Ed099633D3B313e4D5F7bdc1305d3c28ba5Ed": "CreateX",
        "0x13b0D85CcB8bf860b6b79AF3029fCA081AE9beF2": "Create2Deployer",
        "0x0000000000FFe8B47B3e2130213B802212439497": "ImmutableCreate2Factory",
        "0xce0042B868300000d44A59004Da54A005ffdcf9f": "Singleton Factory",
        "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7": "Safe Singleton Factory",
        # Wrapped coins of the chains in the registry, and ether as a token of Polygon.
        "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2": "WETH",
        "0x4200000000000000000000000000000000000006": "WETH",
        "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1": "WETH",
        "0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14": "WETH",
        "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619": "WETH",
        "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270": "WPOL",
        # What all Safes have in common. Nobody owns it: a Safe has an address of its own.
        "0xd9Db270c1B5E3Bd161E8c8503c55cEABeE709552": "Safe Singleton 1.3.0",
        "0x69f4D1788e39c87893C980c06EdF4b7f686e2938": "Safe Singleton 1.3.0",
        "0x3E5c63644E683549055b9Be8653de26E0B4CD36E": "SafeL2 Singleton 1.3.0",
        "0xfb1bffC9d739B8D520DaF37dF666da4C687191EA": "SafeL2 Singleton 1.3.0",
        "0xa6B71E26C5e0845f74c812102Ca7114b6a896AB2": "SafeProxyFactory 1.3.0",
        "0xC22834581EbC8527d974F8a1c97E1bEA4EF910BC": "SafeProxyFactory 1.3.0",
        "0xf48f2B2d2a534e402487b3ee7C18c33Aec0Fe5e4": "CompatibilityFallbackHandler 1.3.0",
        "0x017062a1dE2FE6b99BE3d9d37841FeD19F573804": "CompatibilityFallbackHandler 1.3.0",
        "0xA238CBeb142c10Ef7Ad8442C6D1f9E89e07e7761": "MultiSend 1.3.0",
        "0x998739BFdAAdde7C933B942a68053933098f9EDa": "MultiSend 1.3.0",
        "0x40A2aCCbd92BCA938b02010E17A5b8929b49130D": "MultiSendCallOnly 1.3.0",
        "0xA1dabEF33b3B82c7814B6D82A79e50F4AC44102B": "MultiSendCallOnly 1.3.0",
        "0x41675C099F32341bf84BFc5382aF534df5C7461a": "Safe Singleton 1.4.1",
        "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762": "SafeL2 Singleton 1.4.1",
        "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67": "SafeProxyFactory 1.4.1",
        "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99": "CompatibilityFallbackHandler 1.4.1",
        "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526": "MultiSend 1.4.1",
        "0x9641d764fc13c8B624c04430C7356C1C7C8102e2": "MultiSendCallOnly 1.4.1",
        "0xFf51A5898e281Db6DfC7855790607438dF2ca44b": "Safe Singleton 1.5.0",
        "0xEdd160fEBBD92E350D4D398fb636302fccd67C7e": "SafeL2 Singleton 1.5.0",
        "0x14F2982D601c9458F93bd70B218933A6f8165e7b": "SafeProxyFactory 1.5.0",
        "0x3EfCBb83A4A7AfcB4F68D501E2c2203a38be77f4": "CompatibilityFallbackHandler 1.5.0",
        "0x218543288004CD07832472D464648173c77D7eB7": "MultiSend 1.5.0",
        "0xA83c336B20401Af773B6219BA5027174338D1836": "MultiSendCallOnly 1.5.0",
        # Contracts of the protocol (EIP-4788, 2935, 7002, 7251), and where validators deposit.
        "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02": "BeaconRoots",
        "0x0000F90827F1C53a10cb7A02335B175320002935": "HistoryStorage",
        "0x00000961Ef480Eb55e80D19ad83579A64c007002": "WithdrawalRequests",
        "0x0000BBdDc7CE488642fb579F8B00f3a590007251": "ConsolidationRequests",
        "0x00000000219ab540356cBB839Cbe05303d7705Fa": "DepositContract",
    }
)
"""Contracts that many people use, by address (EIP-55), with the name that explorers show."""


def is_of_network(address: str) -> bool:
    """Return whether an address is reserved for contracts of the chain itself."""
    number = int(address, 16)
    return number < _FIRST_USUAL or number in _PREDEPLOYS


def is_burning(address: str) -> bool:
    """Return whether people send to an address what nobody shall have any more."""
    return address.lower() in _BURNING

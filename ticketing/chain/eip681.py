"""Payment links that wallets understand (EIP-681)."""


def payment_uri(chain_id: int, token_address: str, recipient: str, atomic_amount: int) -> str:
    """Return the link that asks a wallet to send `atomic_amount` of the token to `recipient`."""
    return (
        f"ethereum:{token_address}@{chain_id}/transfer?address={recipient}&uint256={atomic_amount}"
    )

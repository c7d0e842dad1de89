"""Payment links for wallets (EIP-681)."""


def payment_uri(chain_id: int, token_address: str, recipient: str, atomic_amount: int) -> str:
    """Return a link to send `atomic_amount` of a token to `recipient`."""
    return (
        f"ethereum:{token_address}@{chain_id}/transfer?address={recipient}&uint256={atomic_amount}"
    )

"""Sell to x402 clients: they sign a transfer, and the operator's facilitator submits it."""

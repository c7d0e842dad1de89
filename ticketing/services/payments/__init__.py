"""Payments, balances, settlement, refunds, reconciliation."""

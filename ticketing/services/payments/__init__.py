"""Money: payments, balances, settlement, refunds, reconciliation."""

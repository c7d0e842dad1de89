"""What a buyer orders: intents, stock, admissions."""

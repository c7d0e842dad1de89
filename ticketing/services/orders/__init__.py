"""Orders: intents, stock, admissions, limits for clients."""

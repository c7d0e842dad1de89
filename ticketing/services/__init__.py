"""Business logic. Services take plain values and return models."""

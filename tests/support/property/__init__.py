"""The property test: a small world of events, and a model of what must be true of it."""

"""x402: unmodified clients buy tickets, and nobody pays twice."""

"""EVM chains: registry, addresses, node client. Uses neither the database nor web code."""

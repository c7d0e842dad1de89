"""Access: tenants, members, API keys, tokens, rate limits, the audit log."""

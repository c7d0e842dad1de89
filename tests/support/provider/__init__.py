"""A JSON-RPC provider that misbehaves as a test asks, in front of a good node, without HTTP."""

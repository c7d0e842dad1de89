"""A JSON-RPC provider that misbehaves as a test asks, in front of a good node, without HTTP.

rules.py: what a test can ask for
core.py: counts requests, and applies the rules
views.py: answers of other nodes: one that lags, one of another chain
responses.py: responses that are not JSON-RPC answers
"""

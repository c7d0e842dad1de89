"""The world of the property test of payouts: an organizer, payers, buyers, and two nodes.

chain.py: a chain in memory with a token and the factory of refunds
liar.py: what a node may say that is not true
world.py: what people do, and what must be true after it
"""

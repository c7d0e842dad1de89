"""EVM chains without a database and without web code: nodes, logs, receivers.

A node is not trusted: every answer is parsed strictly, and checked against what was asked. What
does not fit is an RpcError, so "unknown" is never read as "nothing". `services` and `worker` call
Node. Nothing else of the service is imported here: `tools.collect` works with this folder alone.

registry.py: the known chains and their tokens; the environment enables some
known_addresses.py: contracts that many people use, and other addresses that are nobody's wallet
node.py: what can be asked of a chain: head, headers, balances, a token's facts, transfers to
    addresses or in a transaction. One connection a process for each chain
transfer_logs.py: reads logs in ranges that the node accepts: a failure halves the width, a success
    doubles it. Each range must follow the block that was read before it, else NotLinked: a
    reorganization. A log that was not asked for is an error. With the logs, the last block is read
    too: a node that lags does not have it
block_headers.py: the blocks of logs, which must have the hashes that the logs name, else ChainMoved
answers.py: parses each response; logs that the node marks as removed are left out
rpc.py: several URLs as one: the first that responds; calls that several readers share
endpoint.py: one URL: its JSON-RPC envelope, batch sizes, pauses after silence and rate limits
errors.py: the tree of errors, which never contain a URL, because URLs contain keys
balances.py, multicall.py: many balances in one call, or in as many as the node accepts
request_size.py: how much one request may ask for: a failure halves it, successes double it
nesting.py: JSON that is nested too deep is refused before it is parsed
abi.py: selectors, and words of 32 bytes
receivers.py: addresses of orders that can pay one owner only, and how they are collected; sources
    and bytes of their contracts are in contracts/v1
refunded_events.py: refunds through the factory: their ids, call data, events and transfers
payout_calls.py: what a node is asked for payouts: balances, used ids, trials, events
payer_calls.py: who sent a payment's transaction, and who signed the payment (EIP-3009)
collecting.py: halves a collection that fails, until the receivers are found that make it fail
secret_texts.py: recognizes seed phrases and private keys that people paste by mistake
secp256k1.py, keccak.py, address.py: the curve; the hash; addresses with their checksum (EIP-55)
eip681.py: payment links for wallets
facilitator_key.py: signs a token for each request to a hosted facilitator
eip3009.py: signed transfers of x402: their digest and their signer
messages.py: signed texts (EIP-191), and signatures of contracts (EIP-1271)
units.py: exact conversion of micro-units and a token's atomic units; never rounds
local_node.py: sends tokens from the unlocked account of a local node, on no other chain
"""

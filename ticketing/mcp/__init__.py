"""What agents use: the messages of MCP, its tools, and the text of /llms.txt.

blueprints/mcp.py serves it. A tool makes the service call that the API makes, so it has no rules of
its own: its schema is in schemas/mcp.py, its errors are the API's, as results with `isError`.

tools.py: what a tool is: its schema, the role that it needs, how it is called
buyer_tools.py: tools that need no credential: the secret of an order or ticket is an argument
paid_tools.py: the tool that is paid by x402 in the call itself
organizer_tools.py: tools that need a credential of the tenant and a role
jsonrpc.py: one JSON-RPC message a request
versions.py: the versions of MCP; what the stateless one repeats in headers
llms_txt.py: /llms.txt, written from the code and the configuration
"""

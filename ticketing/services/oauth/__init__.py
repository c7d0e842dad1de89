"""Apps that act for members: an authorization server of OAuth 2.1 for the organizers' tools of MCP.

A member connects an app on a page of the console. The app gets a code, exchanges it for an access
token of 15 minutes and a refresh token that is valid once, and calls /mcp. Tokens are signed; only
the row of the connected app is stored, with the generation of its refresh token. Clients are
public: PKCE (RFC 7636) and the exact redirect URI protect them.

scopes.py: roles as scopes
clients.py: what a client says of itself, and where it may be sent back to
client_documents.py: that from the URL that is the client's id, or from a client's id that we signed
    when it registered itself (RFC 7591)
descriptions.py: what pages want to know of such URLs, and what the worker has read there
connected_apps.py: the rows: connect, exchange, renew, end; the caller of an access token
grants.py: the grants of authlib that use them
server.py: the answers to the page, to token requests (RFC 6749) and to revocations (RFC 7009)
answers.py: what these answers are; it does not load authlib
metadata.py: what clients find out by themselves (RFC 8414, RFC 9728)
"""

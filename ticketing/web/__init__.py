"""What every request passes: guard, limits, Idempotency-Key, audit log, errors, cache, OpenAPI.

The blueprints, pages and MCP use it; it knows no resource. A request passes front.py, gate.py,
idempotency.py and parsing.py, then its view; problems.py writes errors, and request_log.py the
headers. What one request costs in SQL: tests/api/test_sql_per_request.py.

Responses without Flask: a process stores public responses and event pages by URL, 8 MiB at most. On
each request, one query of services/catalog_version.py decides whether a response is valid. Orders
do not increase the tenant's `revision`, else all orders of a tenant would wait for that row. A page
gets a new form key each time it is sent. A buyer who waits polls the order each 0.8 or 3 seconds:
its ETag is a digest of one query (services/orders/intent_versions.py); if it is the same, 304 is
sent.

front.py, ready_response.py: the WSGI entry: sends what needs no Flask; such a response
response_cache.py: stores, finds and sends public responses; `is_fresh` in
    services/catalog_version.py decides whether one may be sent
waiting_room.py: while people wait for their turn, sends them their place; the token that keeps it
order_polls.py: 304 for an order that has not changed, after client secret and rate limit
gate.py: the checks before a view: size, guard, rate limit. A refused request counts, too. The
    server asks it about the head of an upload, before it reads the body
auth.py: the guards: credential, tenant, role. The role of a view is in its blueprint
event_scope.py: what members may use who are limited to events
secret_guards.py: the guards of an order's buyer, a ticket's holder, a door's device
agent_guard.py: the guard of /mcp: any credential or none, no page of another site; that of what
    apps call before they have a token
sign_in.py: signs members in: counts the attempt, then checks the password and the second factor
passkey_site.py: to which site passkeys belong
rate_limit.py: finds the class and the caller for whom a request counts;
    services/access/rate_limits.py decides
guesses.py: counts wrong codes of vouchers, and refuses more of them
client_ip.py: the client's address behind trusted proxies
origin.py: which hosts have pages; forms of other sites are refused
precedence.py: which paths go first when all threads are busy: those of people who have an order or
    a ticket, of doors, and health checks; not preflight
parsing.py: strict JSON bodies and queries
context.py: what a request carries: configuration, id, caller, tenant
idempotency.py: runs a view once per Idempotency-Key and form key. 402, 409, 429 and 5xx are not
    stored, so the same key may be tried again; services/idempotency.py has the rows
repeated.py: what a repeat shows of an order's secret and of codes, and to a holder, if the
    admission has not changed hands
audited.py: records what a view changes, in the same transaction
image_changes.py: sets and removes images, for the API and the console
blueprint.py: ApiBlueprint: runs the gate, documents each view: its error responses, parameters and
    headers (`_document`)
openapi.py, operation.py: the OpenAPI document and its page; what decorators say about a view
problems.py: the only file that turns errors into responses
conditional.py, download.py, cors.py: ETag and 304; CSV files; scripts of other sites
request_log.py, metrics.py: headers and log line of every response; the count for Prometheus
"""

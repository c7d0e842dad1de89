"""Order a free ticket with the client that was generated. Prints the answer's code of the ticket.

python order.py FOLDER URL TENANT EVENT TICKET. The package is `shop` in FOLDER.
"""

import sys

sys.path.insert(0, sys.argv[1])

from shop import AuthenticatedClient, Client
from shop.api.checkout import checkout_preflight, checkout_purchase
from shop.api.events import events_list_events
from shop.models import NewIntent, Preflight, Problem, Purchase

url, tenant, event_id, ticket_id, key = sys.argv[2:]
anybody = Client(base_url=url)

organizer = AuthenticatedClient(url, key, prefix="", auth_header_name="X-API-Key")
events = events_list_events.sync(tenant, client=organizer)
assert [each.id for each in events.data] == [event_id], events

order = checkout_preflight.sync(
    tenant, client=anybody, body=Preflight(event_id=event_id, ticket_id=ticket_id)
)
assert isinstance(order, NewIntent), order
buyer = AuthenticatedClient(url, order.client_secret)
bought = checkout_purchase.sync(tenant, order.id, client=buyer)
assert isinstance(bought, Purchase), bought
again = checkout_purchase.sync(tenant, "pi_none", client=buyer)
assert isinstance(again, Problem) and again.code == "not_found", again
sys.stdout.write(bought.admissions[0].code)

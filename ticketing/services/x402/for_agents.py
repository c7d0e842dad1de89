"""What llms.txt and MCP say about x402: a section, and the URL of an order."""

from ticketing.config import Config
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services.x402 import goods, requirements
from ticketing.services.x402.goods import EVENT_PATH, PATH
from ticketing.services.x402.requirements import SPEND_LIMIT

GASLESS_PATH = "/v1/checkout/tenants/{tenant}/intents/{intent_id}/gasless"


def x402_url(origin: str, tenant: Tenant, intent: PaymentIntent, config: Config) -> str | None:
    """Return where an x402 client orders and pays in one call.

    None if no network of the order, which has its payment options, has a facilitator.
    """
    found = (config.chains.get(each.chain_id) for each in intent.payment_options)
    if not any(chain is not None and chain.facilitator is not None for chain in found):
        return None
    return origin + goods.path_of(tenant, intent.event_id, intent.items)


def sections(origin: str, config: Config) -> list[str]:
    """Return the section of llms.txt, if any chain has a facilitator."""
    return [_section(origin)] if requirements.is_enabled(config) else []


def _section(origin: str) -> str:
    return f"""\
## Pay with x402

An x402 client (version 2, scheme `exact`) orders and pays with one call:
`POST {origin}{PATH}`.
GET of the same path returns the price; only what the POST answers can be signed.

```js
import {{ wrapFetchWithPayment }} from "@x402/fetch";
const buy = wrapFetchWithPayment(fetch, client);  // {SPEND_LIMIT}
await buy("{origin}{PATH.format(tenant="$TENANT", ticket_id="$TICKET")}", {{
  method: "POST", headers: {{"Content-Type": "application/json"}}, body: '{{"quantity": 1}}' }});
```

Several ticket types of one event, in one payment, if the event has `carts`: the same with
`{{"items": [{{"ticket_id": "$TICKET", "quantity": 2}}, ...]}}` at
`POST {origin}{EVENT_PATH}`.

If the order can be paid on several networks, `accepts` of the 402 has an entry for each. A client
pays on the one on which it has money: all of it on one network.

An order of a preflight can be paid by a signature too, without a network fee:
`GET {origin}{GASLESS_PATH}?payer=0x..` returns `typed_data`; POST its `message` with
the `signature` to the same path. Both need the `client_secret` as bearer token.

Clients refuse what costs more than their spend limit: the default is $1.
"""

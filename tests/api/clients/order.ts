// Order a free ticket with the types that were generated. Prints the code of the ticket.
// node order.js URL TENANT EVENT TICKET
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./schema.js";

declare const process: { argv: string[] };

type Confirmed = webhooks["intent.confirmed"]["post"]["requestBody"]["content"]["application/json"];
export const amountOf = (sent: Confirmed): number => sent.data.amount;

const [url, tenant, event_id, ticket_id] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url });

const body: components["schemas"]["Preflight"] = { event_id, ticket_id, quantity: 1 };
const order = await client.POST("/v1/checkout/tenants/{tenant}/preflight", {
  params: { path: { tenant } },
  body,
});
if (order.error) throw new Error(order.error.code);
const bought = await client.POST("/v1/checkout/tenants/{tenant}/intents/{intent_id}/purchase", {
  params: { path: { tenant, intent_id: order.data.id } },
  headers: { Authorization: `Bearer ${order.data.client_secret}` },
});
if (bought.error || !("admissions" in bought.data)) throw new Error("not bought");
console.log(bought.data.admissions[0].code);

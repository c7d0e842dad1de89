// Buy with the unmodified x402 client: `buy.mjs URL [QUANTITY]`. AGENT_KEY is the key of a wallet.
// AGENT_SPEND_LIMIT is the client's limit for one payment, such as $50. Its default is $1.
import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const [url, quantity] = process.argv.slice(2);
const { AGENT_KEY, AGENT_SPEND_LIMIT } = process.env;
const client = new ExactEvmScheme(privateKeyToAccount(AGENT_KEY));
const limit = AGENT_SPEND_LIMIT && { spendControls: { maxAmountPerPayment: AGENT_SPEND_LIMIT } };
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: "eip155:*", client }],
  ...limit,
});
const order = { method: "POST" };
if (quantity) {
  order.headers = { "Content-Type": "application/json" };
  order.body = JSON.stringify({ quantity: Number(quantity) });
}
const response = await pay(url, order);
const receipt = response.headers.get("PAYMENT-RESPONSE");
console.log(JSON.stringify({
  status: response.status,
  receipt: receipt && decodePaymentResponseHeader(receipt),
  body: await response.json(),
}));

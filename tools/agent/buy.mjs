// Buy with the unmodified x402 client: `buy.mjs URL [QUANTITY]`. AGENT_KEY is the key of a wallet.
// AGENT_SPEND_LIMIT is the client's limit for one payment, such as $50. Its default is $1.
// AGENT_ASSETS are further tokens with limits of their own, as JSON: the client knows USDC only.
import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const [url, quantity] = process.argv.slice(2);
const { AGENT_KEY, AGENT_SPEND_LIMIT, AGENT_ASSETS } = process.env;
const client = new ExactEvmScheme(privateKeyToAccount(AGENT_KEY));
const spendControls = {
  ...(AGENT_SPEND_LIMIT && { maxAmountPerPayment: AGENT_SPEND_LIMIT }),
  ...(AGENT_ASSETS && { allowedAssets: JSON.parse(AGENT_ASSETS) }),
};
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network: "eip155:*", client }],
  spendControls,
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

// Asks the service what to sign to pay an order without a network fee, and sends it the signature.

const SECONDS = 1000;
const LONGEST_PAUSE = 15;
const WORDS = {
  payment_sent: "Settling",
  transfer_outdated: "Outdated",
  transfer_refused: "Refused",
  x402_calls_used: "NoGasless",
  gasless_not_enabled: "NoGasless",
  intent_expired: "Over",
};

const [id, secret] = location.pathname.split("/")[2].split(/\.(.*)/s);
const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
const path = () => `/v1/checkout/tenants/${document.getElementById("order").dataset.tenant}/intents/${id}/gasless`;

// What an account signs, if it pays what this page shows. Throws { say }: why it cannot.
export async function toSign(from, { token, chain, to, amount }) {
  const answer = await fetch(`${path()}?payer=${from}`, { headers, cache: "no-store" }).catch(() => undefined);
  if (!answer?.ok) throw { say: await wordOf(answer) };
  const typed = (await answer.json()).typed_data;
  const { domain, message } = typed;
  const asked = [domain.verifyingContract, domain.chainId, message.to, message.value, message.from];
  const shown = [token, chain, `0x${to}`, amount, from];
  if (asked.join().toLowerCase() !== shown.join().toLowerCase()) throw { say: "Outdated" };
  return typed;
}

// Sends a signature, again and again while nobody answers: a repeat changes nothing.
export async function send(message, signature, onLost) {
  const body = JSON.stringify({ ...message, signature });
  const until = Number(message.validBefore) * SECONDS; // Nobody can send the signature after that.
  for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const answer = await fetch(path(), { method: "POST", headers, body }).catch(() => undefined);
    if (answer?.ok) return;
    if (answer && answer.status !== 429 && answer.status < 500) throw { say: await wordOf(answer) };
    if (Date.now() > until) throw { say: "Lost" };
    onLost();
    const wanted = Number(answer?.headers.get("Retry-After")) || 0;
    await new Promise((resolve) => setTimeout(resolve, Math.max(pause, wanted) * SECONDS));
  }
}

const wordOf = async (answer) => WORDS[(await answer?.json().catch(() => undefined))?.code] ?? "NotTaken";

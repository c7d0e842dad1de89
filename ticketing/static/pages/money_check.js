// What the wallet's own node says about refunds, before anybody signs them. The service's node and
// this one are two: together they do not invent money.

import { soon } from "./browser_wallets.js";
import { hasTransfer, uses } from "./money_calls.js";

const AT_ONCE = 5; // requests to a wallet
const IDS_PER_CALL = 100;
const PATIENCE_MS = 30_000; // then a payment without an answer is unknown

// Calls `act` with each of a list, AT_ONCE at a time. Returns the answers in the same order.
export async function fewAtATime(list, act) {
  const answers = [], queue = list.entries();
  const one = async () => {
    for (const [at, each] of queue) answers[at] = await act(each);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return answers;
}

// Which of some ids were used: { payer, id } each. True, false, or undefined if the node did not say.
export async function usedIds(wallet, pairs) {
  const chunks = [];
  for (let at = 0; at < pairs.length; at += IDS_PER_CALL) chunks.push(pairs.slice(at, at + IDS_PER_CALL));
  const one = async (pair) => (await wallet.hasUsed(pair)) ?? wallet.hasUsed(pair); // a node may be busy
  const answers = await fewAtATime(chunks, (chunk) => wallet.haveUsed(chunk));
  const found = answers.map((each, at) => each ?? fewAtATime(chunks[at], one));
  return (await Promise.all(found)).flat();
}

// Who used the ids of some payments since a block: see `uses`. A node that has no events is asked
// about each account of the wallet, and `more`; what it used is taken for paid.
export async function seenUses(wallet, token, payments, since, more) {
  const ids = payments.map(({ id }) => id);
  const logs = await wallet.events(ids, since);
  if (logs) return uses(logs, payments, token);
  const accounts = new Set([...(await wallet.accounts()), ...more]);
  const pairs = ids.flatMap((id) => [...accounts].map((payer) => ({ id, payer, isPaid: true, hash: null })));
  const answers = await usedIds(wallet, pairs);
  return pairs.filter((_, at) => answers[at]);
}

// What the wallet's node says of each order of a preview, by order: `same`, what the server says, so
// that it may be listed; `used`, an id of it; `other`, its payments are different there; `unknown`.
// `onProgress` gets how many payments of how many were looked at. `known` keeps what was the same.
export async function check(wallet, token, orders, known, onProgress) {
  const payments = new Map(orders.flatMap((each) => each.payments).map((each) => [keyOf(each), each]));
  const hashes = [...new Set([...payments.values()].filter((each) => !known.has(keyOf(each))).map((each) => each.tx_hash))];
  const all = payments.size, of = new Map(hashes.map((hash) => [hash, []]));
  for (const each of payments.values()) of.get(each.tx_hash)?.push(each);
  const states = new Map([...payments.keys()].map((key) => [key, "same"]));
  const began = Date.now();
  let left = [...of.values()].flat().length;
  if (left) onProgress(all - left, all);
  await fewAtATime(hashes, async (hash) => {
    const ask = () => (Date.now() - began < PATIENCE_MS ? soon(wallet.receipt(hash)) : null);
    const receipt = (await ask()) ?? (await ask()); // a node may be behind or busy for a moment
    for (const each of of.get(hash)) {
      const state = !receipt ? "unknown" : hasTransfer(receipt, each, token) ? "same" : "other";
      states.set(keyOf(each), state);
      if (state === "same") known.add(keyOf(each));
      left -= 1;
    }
    onProgress(all - left, all);
  });
  const pairs = orders.flatMap(({ intent_id: intent, ids }) => ids.map((each) => ({ ...each, intent })));
  const answers = await usedIds(wallet, pairs);
  const uses = new Map(orders.map(({ intent_id: intent }) => [intent, []]));
  pairs.forEach((pair, at) => uses.get(pair.intent).push({ ...pair, isUsed: answers[at] }));
  return new Map(orders.map((order) => [order.intent_id, stateOf(order, states, uses.get(order.intent_id))]));
}

const keyOf = ({ tx_hash: hash, log_index: at }) => `${hash} ${at}`;

function stateOf({ witnessed, payments }, states, uses) {
  const found = payments.map((each) => ({ state: states.get(keyOf(each)), hash: each.tx_hash }));
  const used = uses.find(({ isUsed }) => isUsed), other = found.find(({ state }) => state === "other");
  if (used) return { state: "used", payer: used.payer };
  if (other) return { state: "other", hash: other.hash };
  const isSeen = (witnessed || payments.length > 0) && found.every(({ state }) => state === "same");
  return { state: isSeen && uses.every(({ isUsed }) => isUsed === false) ? "same" : "unknown" };
}

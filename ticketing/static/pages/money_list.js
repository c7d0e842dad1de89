// Which refunds go on a list: what the server offers, the wallet's own node has seen, and, where
// somebody has to look first, what a person has ticked.

import { soon } from "./browser_wallets.js";
import { check } from "./money_check.js";
import { post } from "./money_server.js";
import { say } from "./money_view.js";

const AT_A_TIME = 20; // orders with cautions that one person looks at
const SEEN_MS = 30_000; // the server's node may be so far behind the wallet's
const BOOKS_MS = 5_000;

// Returns the server's list for a wallet, with `names`, and everything in `blocked` that is due and
// not on it. `row.looks` gets what a person has to look at, and `row.problems` what is not as the
// server says.
export async function list(row, { until, wallet }) {
  const asked = { chain_id: row.chain, payer: wallet.account };
  let found = await until(post("payouts/preview", asked));
  let states = await until(stated(row, wallet, found));
  if ([...states.values()].some(({ state }) => state === "used") && !row.isLookedTwice) {
    // Somebody may have paid just now, and the worker has not read it yet.
    row.isLookedTwice = true;
    await until(soon(post("signed", { chain_id: row.chain })));
    await until(new Promise((resolve) => setTimeout(resolve, BOOKS_MS)));
    found = await until(post("payouts/preview", asked));
    states = await until(stated(row, wallet, found));
  }
  const isOf = (...some) => ({ intent_id: intent }) => some.includes(states.get(intent).state);
  const isPaidNow = ({ intent_id: intent }) => Date.now() - (row.paid.get(intent) ?? 0) < SEEN_MS;
  const isTicked = ({ intent_id: intent, to }) => row.ticked.get(intent) === to;
  const open = found.orders.filter((each) => !isPaidNow(each)).map((each) => ({
    ...each, name: found.names[each.intent_id] ?? say("Person"), isUnknown: isOf("unknown")(each),
  }));
  const isCautioned = ({ cautions }) => cautions.length > 0;
  const good = open.filter(isOf("same", "unknown"));
  const plain = good.filter((each) => !isCautioned(each) && (!each.isUnknown || isTicked(each)));
  const cautioned = good.filter(isCautioned);
  row.looks = {
    unknown: good.filter((each) => each.isUnknown && !isCautioned(each) && !isTicked(each)),
    cautioned: cautioned.filter((each) => !isTicked(each)).slice(0, AT_A_TIME),
    waiting: cautioned.filter((each) => !isTicked(each)).length,
  };
  await report(row, open.filter(isOf("other", "used")), states);
  let answer = { ...found, transactions: [], payments: [] };
  for (const [some, isLooked] of [[plain, false], [cautioned.filter(isTicked), true]]) {
    if (!some.length || answer.transactions.length) continue;
    answer = merged(answer, await until(post("payouts", {
      ...asked,
      only: some.map(({ intent_id: intent }) => intent),
      accept_unwitnessed: some.every(({ witnessed }) => witnessed) ? [] : "on",
      include_cautioned: isLooked ? "on" : [],
    })));
    const shown = new Map(some.map((each) => [each.intent_id, each]));
    for (const each of answer.payments) {
      const asShown = shown.get(each.intent_id);
      if (asShown?.to !== each.to || each.amount > asShown.amount) throw { say: "Changed" };
    }
  }
  const blocked = answer.blocked.filter((each) => each.reason !== "not_chosen" && !isPaidNow(each));
  return { ...answer, blocked, orders: new Map(open.map((each) => [each.intent_id, each])) };
}

function stated(row, wallet, { orders, token_address: token }) {
  if (token.toLowerCase() !== row.token) throw { say: "Unknown" };
  const onProgress = (done, all) => row.progress(say("Checking", { done, all }));
  // What was paid here a moment ago has used its id.
  const open = orders.map((each) => ({ ...each, ids: each.ids.filter(({ id }) => !row.finished.has(id)) }));
  return check(wallet, row.token, open, row.known, onProgress);
}

// The later answer is about the orders that were asked for, and has asked a node.
function merged(before, answer) {
  const known = new Map([...before.blocked, ...answer.blocked.filter(({ reason }) => reason !== "not_chosen")]
    .map((each) => [each.intent_id, each]));
  return { ...answer, names: { ...before.names, ...answer.names }, blocked: [...known.values()], left: before.left };
}

// Tells the server what the wallet's node says otherwise, each order once, and the page what to show.
async function report(row, orders, states) {
  row.problems = [];
  for (const kind of ["other", "used"]) {
    const some = orders.filter(({ intent_id: intent }) => states.get(intent).state === kind);
    if (!some.length) continue;
    const news = some.map(({ intent_id: intent }) => intent).filter((each) => !row.told.has(each));
    for (let at = 0; at < news.length; at += 100) {
      const { hash, payer } = states.get(news[at]);
      const told = await soon(post("reports", {
        chain_id: row.chain,
        kind: kind === "other" ? "other_content" : "id_used",
        intent_ids: news.slice(at, at + 100),
        tx_hash: hash,
        payer,
      }));
      for (const each of told ? news.slice(at, at + 100) : []) row.told.add(each);
    }
    row.problems.push({ kind, orders: some, isTold: some.every(({ intent_id: intent }) => row.told.has(intent)) });
  }
}

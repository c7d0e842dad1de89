// Moves money to the organizer's wallet, or pays back what is owed: network by network, each call
// signed by a wallet of this browser. The server says what to sign; money_calls.js decides whether.
// Whatever ends in between, the next look at the chain shows what is left.

import { onWallets, soon } from "./browser_wallets.js";
import { approve, arrived, moves, refunds, uses } from "./money_calls.js";
import { seenUses } from "./money_check.js";
import { list } from "./money_list.js";
import { showLooks } from "./money_looks.js";
import { Run, STOP } from "./money_run.js";
import { post } from "./money_server.js";
import { Signed } from "./money_signed.js";
import { announce, counted, element, number, page, part, Row, say, short, showPeople } from "./money_view.js";
import { Wallet } from "./money_wallet.js";
import { decided, shown, waits } from "./money_words.js";

const FIND_MS = 300; // for wallets to announce themselves
const LOOK_MS = 1_000;
const BOOKS_MS = 5_000;
const PATIENCE_MS = 30_000; // then the server is asked whether it arrived, and a person may stop waiting
const PRESSED_MS = 30_000; // from a press on "Your money" until this page is there
const MOVING_AT_ONCE = 2; // calls of 100 orders in one batch. A transaction has 16.7 million gas (EIP-7825).
const AGAIN = {};

const { kind, tenant } = page.dataset;
const isMove = kind === "collections";
const owners = new Map((page.dataset.owners ?? "").split(" ").map((each) => [each.toLowerCase(), each]));
const signed = new Signed(tenant, kind);
const rows = [...page.querySelectorAll("[data-chain]")].map((item) => new Row(item));
const sum = rows.reduce((all, row) => all + row.amount, 0n);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let wallets = new Map();
let isRunning = false;
let isWatching = false;
let isFound = false;
let isHalted = false; // something was paid otherwise than it was asked for: nothing is asked any more
const payers = new Set(); // other accounts that a person wants to pay from

const startsNow = location.hash === "#start" && isPressed();
if (location.hash === "#start") history.replaceState(null, "", location.pathname);
onWallets((found) => {
  wallets = found;
  offer();
});
addEventListener("storage", resume);
setTimeout(() => {
  isFound = true;
  resume();
  if (startsNow && wallets.size === 1 && !isPending()) start([...wallets.values()][0]);
  else offer();
}, FIND_MS);

// Whether a link of "Your money" was pressed just now: see console.js. A link from elsewhere starts nothing.
function isPressed() {
  try {
    const at = Number(sessionStorage.getItem("start"));
    sessionStorage.removeItem("start");
    return Date.now() - at < PRESSED_MS;
  } catch {
    return false;
  }
}

const isPending = () => rows.some((row) => signed.read(row.chain));

// Shows a button for each wallet, while nothing that was signed is unseen.
function offer(text) {
  if (isRunning || !isFound) return;
  const isOff = isHalted || isPending() || rows.every((row) => row.isOver);
  part("wallets").replaceChildren(...(isOff ? [] : [...wallets.values()]).map((found, at) => {
    const button = element("button", say("Start", { wallet: found.name }), at ? "" : "primary");
    button.type = "button";
    button.addEventListener("click", () => {
      rows.find((row) => !row.isOver).focus();
      start(found);
    });
    return button;
  }));
  if (wallets.size) part("other-ways").open = false;
  const ready = wallets.size > 1 ? "WalletMany" : wallets.size ? "Ready" : "WalletNone";
  part("lead").textContent = text ?? (isOff ? "" : say(ready));
}

async function start(found) {
  const run = new Run(new Wallet(found));
  const isAlone = await signed.alone(() => go(run));
  if (!isAlone) return offer(say("OtherTab"));
  for (const row of rows) {
    if (row.allowed) offerBack(row, run.wallet);
    if (row.isOver && row.looks && !isHalted) showLooks(row, run.wallet, (ticked) => {
      row.ticked = ticked;
      row.isOver = false;
      row.focus();
      start(found);
    });
  }
}

async function go(run) {
  isRunning = true;
  part("wallets").replaceChildren();
  part("lead").textContent = "";
  part("what").textContent = say("What");
  part("what").className = "small";
  part("sum-line").hidden = false;
  if (!isMove) part("result").hidden = true;
  for (const row of rows) row.hideLooks();
  part("stop").querySelector("button").onclick = () => {
    part("lead").focus();
    run.stop();
  };
  part("stop").hidden = false;
  for (const row of rows) if (!row.isOver) row.show("next", say("Next"));
  let text;
  try {
    for (const row of rows) {
      showProgress();
      if (!row.isOver) await run.until(work(row, run));
    }
  } catch (error) {
    if (error !== STOP && !error.halts) throw error;
    text = say("Stopped");
    for (const row of rows) if (!row.isOver) row.show("wait", text);
    if (error.halts) await halt(error, run.wallet.name);
  } finally {
    isRunning = false;
    part("stop").hidden = true;
    showProgress();
    offer(text);
  }
  showResult();
  resume();
}

// One network: asks the server what to sign, lets the wallet sign it, until nothing is left.
async function work(row, run) {
  const { wallet } = run;
  let lost = null; // what was signed and did not come
  for (let isConfirmed = false; ;) {
    try {
      lost = (await settle(row, run)) ?? lost;
      await prompt(row, run, say("Connect", { wallet: wallet.name }), () => wallet.use(row.chain));
      const isKnown = isMove || owners.has(wallet.account) || payers.has(wallet.account);
      if (!isKnown) throw { say: "OtherPayer", account: wallet.account };
      row.show("now", say("Look", { network: row.name }));
      await findSent(row, run);
      const answer = isMove ? await run.until(proposal(row, isConfirmed)) : await list(row, run);
      const calls = isMove ? moves(answer, row.token, owners) : refunds(answer, row);
      if (await isSeenLater(row, run, calls)) continue;
      row.reasons = waits(row, answer, isMove);
      row.notes(row.reasons);
      if (lost) {
        const unseen = lost;
        lost = null;
        await look(row, run, unseen, calls);
      }
      if (!calls.length) return await finish(row, run);
      await sign(row, run, calls, answer);
    } catch (problem) {
      if (problem === STOP || problem.halts) throw problem;
      if (problem === AGAIN) continue;
      if (problem.lost) {
        lost = problem.lost;
        continue;
      }
      isConfirmed = await explain(row, run, problem);
    }
  }
}

function proposal(row, isConfirmed) {
  const asked = { chain_id: row.chain };
  return post("collections", isConfirmed ? { ...asked, owner_confirmed: "on" } : asked);
}

// The server's node may be behind the wallet's: it proposes what was just seen. Then it is asked again.
async function isSeenLater(row, run, calls) {
  const isRecent = (each) => Date.now() - (row.finished.get(each) ?? 0) < PATIENCE_MS;
  const isSeen = calls.some(({ parts }) => parts.some(isRecent));
  if (isSeen) await run.until(pause(LOOK_MS));
  return isSeen;
}

// A wallet may have sent what it was asked for, whatever it answered, also before a reload.
async function findSent(row, run) {
  const asked = signed.asked(row.chain);
  if (!asked) return;
  const call = { what: "refund", payments: asked.payments };
  countOwn(row, [call], await usesSince(row, run, asked.payments, asked.block), asked.accounts);
}

// Who used the ids of some payments since a block, as far as the wallet's node says.
function usesSince(row, run, payments, since) {
  return run.until(seenUses(run.wallet, row.token, payments, since, [...owners.keys(), ...payers]));
}

const paymentsOf = (calls) => calls.flatMap(({ payments }) => payments ?? []);

// Counts what the asked accounts paid. Everything ends if
// another account paid, or if an asked one used an id for something else: to ask again could pay twice.
function countOwn(row, calls, found, accounts) {
  const isOwn = ({ payer }) => accounts.includes(payer);
  const own = new Set(found.filter((each) => each.isPaid && isOwn(each)).map(({ id }) => id));
  signed.seen(row.chain, own);
  for (const call of calls) {
    const some = (call.payments ?? []).filter(({ id }) => own.has(id) && !row.finished.has(id));
    if (some.length) count(row, { ...call, parts: some.map(({ id }) => id) }, some);
  }
  const [odd] = found.filter((each) => each.isPaid !== isOwn(each));
  if (!odd) return;
  const ids = new Set(found.filter(({ payer, isPaid }) => payer === odd.payer && isPaid === odd.isPaid).map(({ id }) => id));
  const intents = paymentsOf(calls).filter(({ id }) => ids.has(id)).map(({ intent }) => intent);
  throw {
    halts: row, say: odd.isPaid ? "PaidByAnother" : "IdUsed", count: ids.size, payer: odd.payer, own: accounts[0],
    report: { kind: odd.isPaid ? "paid_by_another" : "id_used", intent_ids: intents, tx_hash: odd.hash, payer: odd.payer },
  };
}

// What was signed and was not seen. That it is not proposed any more proves nothing: the account may
// have too little now, or the token may be paused. Only what the chain says is counted.
async function look(row, run, lost, calls) {
  const unproven = new Set();
  const payments = paymentsOf(lost.calls);
  if (payments.length) countOwn(row, lost.calls, await usesSince(row, run, payments, lost.block ?? 0), accountsOf(lost));
  for (const { parts } of lost.calls) {
    for (const each of parts) if (!row.finished.has(each)) unproven.add(each);
  }
  const open = new Set(calls.flatMap(({ parts }) => parts));
  if ([...unproven].some((each) => open.has(each))) throw { say: "Missing" };
  // An allowance and a deployment are not asked for again: they are there.
  if (lost.calls.some(({ what, parts }) => isMoving(what) && parts.some((each) => unproven.has(each)))) {
    throw { say: "Unclear" };
  }
}

const isMoving = (what) => what === "collect" || what === "refund";

async function sign(row, run, calls, { orders }) {
  const { wallet } = run;
  for (const each of paymentsOf(calls)) {
    const order = orders.get(each.intent);
    Object.assign(each, { name: order.name, note: decided(order) });
  }
  const people = calls.flatMap((call) => call.payments ?? []);
  const now = (call) => (call.what === "approve" ? run.until(wallet.allowing(call)) : [call]);
  if (calls.length > 1 && !row.isSingle && (await run.until(wallet.isAtomic(row.chain)))) {
    const last = calls.filter(({ what }) => isMoving(what)).slice(0, MOVING_AT_ONCE).at(-1);
    const batch = (await Promise.all(calls.slice(0, calls.indexOf(last) + 1).map(now))).flat();
    try {
      return await signAndSettle(row, run, batch, true, people);
    } catch (problem) {
      if (!problem.isSingle) throw problem;
      row.isSingle = true;
    }
  }
  for (const call of calls) {
    for (const each of await now(call)) await signAndSettle(row, run, [each], false, people);
    // What comes after it was not tried by any node.
    if (call.what === "deploy") return;
  }
}

async function signAndSettle(row, run, calls, isBatch, people) {
  const { wallet } = run, { account, name } = wallet;
  const { time: head, number: block } = await run.until(wallet.head());
  await run.until(wallet.check(row.chain));
  const kept = plain(calls.map(({ what, owner, amount, payments, parts }) => ({ what, owner, amount, payments, parts })));
  const until = 1000 * Number(calls.find(({ what }) => what === "refund")?.validBefore);
  const turn = (row.turn = {});
  signed.ask(row.chain, { block, account, payments: paymentsOf(kept), until });
  // Stored as soon as the wallet answers, also if nobody waits for its answer any more.
  const asked = () => (isBatch ? wallet.sendAll(row.chain, calls) : wallet.send(row.chain, calls[0])).then((id) => {
    const sent = [{ id, isBatch, account }];
    signed.add(row.chain, { wallet: name, head, block, at: Date.now(), sent, calls: kept });
    post("signed", { chain_id: row.chain }).catch(() => {});
    if (row.turn !== turn) row.wake(); // an earlier request was signed, not the one that is shown
    resume(); // if a person has stopped meanwhile
  });
  await prompt(row, run, say("Sign", { wallet: name }), asked, shown(row, wallet, calls, people, owners));
  const lost = await settle(row, run);
  if (lost) throw { lost };
}

// Amounts as text, because JSON has no large numbers.
const plain = (entry) => JSON.parse(JSON.stringify(entry, (_, value) => (typeof value === "bigint" ? value.toString() : value)));

// Asks the wallet something that a person answers there, or never.
async function prompt(row, run, text, ask, pairs = []) {
  if (run.isStopped) throw STOP;
  row.show("now", text);
  row.shown(pairs);
  const again = new Promise((_, reject) => {
    row.wake = () => reject(AGAIN);
  });
  row.buttons([say("Again")]).then(row.wake);
  const answer = ask();
  for (const each of [again, answer]) each.catch(() => {});
  const found = await run.until(Promise.race([answer, again]));
  row.buttons([]);
  return found;
}

// Waits for what was signed. Returns it if it did not come, and null otherwise. The wallet may be
// silent, and the server may stand still: then a person may stop waiting.
async function settle(row, run) {
  let entry = signed.read(row.chain);
  if (!entry) return null;
  row.show("now", say("Waiting", { network: row.name }));
  let isLeft = false, left = null;
  for (let asked = 0, asOf = 0; ; await run.until(Promise.race([pause(LOOK_MS), ...(left ? [left] : [])]))) {
    const found = await run.until(Promise.all(entry.sent.map((each) => soon(run.wallet?.outcome(row.chain, each)))));
    const logs = found.flatMap((each) => each?.logs ?? []);
    const isWanted = entry.calls.some(({ what }) => isMoving(what));
    const isSeen = isWanted ? hasMoved(row, entry, logs) : found.some(Boolean);
    if (isSeen || found.every((each) => each?.isWhole)) {
      signed.forget(row.chain, entry);
      judge(row, entry, logs);
      return null;
    }
    entry = signed.read(row.chain); // another request may have been signed
    if (!entry) throw { say: "Unclear" }; // a tab without Web Locks has decided
    if (Date.now() - asked > BOOKS_MS) {
      asked = Date.now();
      const answer = await run.until(soon(post("signed", { chain_id: row.chain })));
      asOf = Date.parse(answer?.as_of) / 1000 || asOf;
    }
    const isLate = Date.now() - entry.at > PATIENCE_MS;
    if (isLeft || (isLate && asOf > entry.head)) {
      signed.forget(row.chain, entry);
      return { ...entry, isLeft };
    }
    if (isLate) left ??= row.buttons([say("StopWaiting")]).then(() => {
      isLeft = true;
    });
  }
}

const accountsOf = ({ sent }) => sent.map(({ account }) => account);

const hasMoved = (row, { calls, sent }, logs) => calls.some(({ what, owner, payments }) => {
  const isNews = ({ payer, isPaid }) => isPaid || accountsOf({ sent }).includes(payer);
  if (what === "refund") return uses(logs, payments, row.token).some(isNews);
  return what === "collect" && arrived(logs, row.token, owner) > 0n;
});

// Counts what the logs show. What moves nothing has failed, whatever its status says.
function judge(row, entry, logs) {
  const isNews = entry.calls.some(({ what, parts }) => isMoving(what) && parts.some((each) => !row.finished.has(each)));
  const payments = paymentsOf(entry.calls);
  countOwn(row, entry.calls, uses(logs, payments, row.token), accountsOf(entry));
  const seen = new Set();
  for (const call of entry.calls) {
    if (call.what === "collect") {
      const amount = arrived(logs, row.token, call.owner);
      if (amount) count(row, { ...call, amount: seen.has(call.owner) ? 0n : amount }, []);
      seen.add(call.owner);
    }
  }
  if (isNews && !hasMoved(row, entry, logs)) throw { say: "Reverted" };
}

function count(row, call, payments) {
  for (const each of call.parts) row.finished.set(each, Date.now());
  if (call.what === "refund") {
    for (const { name, amount, intent } of payments) {
      row.people.push({ name, amount: row.micro(amount) });
      row.paid.set(intent, Date.now());
    }
    row.moved += payments.reduce((all, { amount }) => all + row.micro(amount), 0n);
  } else if (call.what === "collect") {
    row.moved += row.micro(call.amount);
    row.owner = call.owner;
  }
  showProgress();
}

async function finish(row, run) {
  row.isOver = true;
  row.ticked.clear();
  const { unknown = [], waiting = 0 } = row.looks ?? {};
  const open = unknown.length + waiting;
  const text = row.moved ? say("DonePart", { sum: number(row.moved) }) : "";
  if (open) row.show("wait", `${text} ${counted("Look", open)}`.trim());
  else if (!row.moved) return row.show("wait", say("Nothing", { network: row.name }));
  else showDone(row);
  row.payer = run.wallet.account;
  row.allowed = isMove ? 0n : (await run.until(soon(run.wallet.allowance(row.token)))) ?? 0n;
}

const showDone = (row) => row.show("done", say("Done", { address: row.owner ? short(owners.get(row.owner)) : "" }));

// Offers to take back an allowance that is left over, until it is 0.
async function offerBack(row, wallet) {
  for (let text = ""; row.allowed; ) {
    const all = say("Allowance", { amount: number(row.micro(row.allowed)) });
    row.notes([...row.reasons, all, ...(text ? [text] : [])]);
    await row.buttons([say("TakeBack")]);
    row.buttons([]);
    row.notes([...row.reasons, say("Connect", { wallet: wallet.name })]);
    text = "";
    const isAlone = await signed.alone(async () => {
      const run = new Run(wallet);
      setTimeout(run.stop, PATIENCE_MS); // other tabs do not wait for ever
      try {
        await takeBack(row, run);
      } catch (problem) {
        if (problem !== STOP) text = say(problem.say ?? "Failed", { wallet: wallet.name, network: row.name });
      }
    });
    if (!isAlone) text = say("OtherTab");
  }
  row.notes(row.reasons);
  row.buttons([]);
}

async function takeBack(row, { until, wallet }) {
  await until(wallet.use(row.chain));
  if (wallet.account !== row.payer) throw { say: "Switched" };
  await until(wallet.check(row.chain));
  await until(wallet.send(row.chain, approve(row.token, 0n)));
  while (row.allowed) {
    await until(pause(LOOK_MS));
    row.allowed = (await until(soon(wallet.allowance(row.token)))) ?? row.allowed;
  }
}

// Says what went wrong, and waits for a press. Returns whether it confirms the owner's address.
async function explain(row, run, problem) {
  if (problem instanceof Error) console.warn(problem);
  const { account } = problem;
  const values = { wallet: run.wallet.name, network: row.name, address: account && short(account) };
  tell(row, problem, values);
  const isAsked = problem.code === "owner_not_confirmed";
  const again = say("Again"), confirm = say("Confirm", values), payFrom = say("PayFrom", values);
  const pressed = await run.until(row.buttons(isAsked ? [confirm] : account ? [payFrom, again] : [again]));
  if (account && pressed === payFrom) payers.add(account);
  return isAsked;
}

function tell(row, problem, values) {
  row.show("wait", problem.sentence ?? say(problem.say ?? "Failed", values));
  if (problem.say === "Unclear" || problem.halts) row.link();
}

// Says who paid, tells the server, and asks for no further signature.
async function halt(problem, wallet) {
  const { halts: row, count, payer, own, report } = problem;
  isHalted = true;
  const isTold = await soon(post("reports", { chain_id: row.chain, ...report }));
  const what = counted(problem.say, count, { address: short(payer), own: short(own), wallet });
  tell(row, { ...problem, sentence: `${what} ${say(isTold ? "Told" : "NotTold")}` }, {});
}

function showProgress() {
  const moved = rows.reduce((all, row) => all + row.moved, 0n);
  const over = rows.filter((row) => row.isOver).length;
  part("sum").textContent = number(moved);
  part("of").textContent = say("Of", { sum: number(sum) });
  part("place").textContent = say("Place", { done: over, all: rows.length });
  part("place").hidden = false;
  part("progress").value = sum ? Math.min(1, Number(moved) / Number(sum)) : 1;
  part("progress").hidden = false;
}

const isOpen = ({ looks }) => looks && (looks.unknown.length || looks.cautioned.length);

function showResult() {
  const moved = rows.reduce((all, row) => all + row.moved, 0n);
  if (!moved || !rows.every((row) => row.isOver && !isOpen(row))) return;
  const title = say("Title", { sum: number(moved) });
  announce(title);
  part("what").textContent = title;
  // The title has the sum. It is not shown twice.
  part("what").className = "";
  for (const id of ["sum-line", "progress", "place"]) part(id).hidden = true;
  if (isMove) return;
  const people = rows.flatMap((row) => row.people.map((each) => ({ ...each, network: row.name })));
  showPeople(people);
}

// After a reload, or for another tab: shows what was signed, until it is seen or given up. The tab
// that signs decides that. When it is over, another one does.
async function resume() {
  if (isRunning || isWatching || !isPending()) return;
  isWatching = true;
  const watched = rows.filter((row) => signed.read(row.chain));
  for (const row of watched) row.show("now", say("Waiting", { network: row.name }));
  offer();
  await signed.inTurn(() => Promise.all(watched.map(watch)));
  isWatching = false;
  showResult();
  offer();
  resume();
}

async function watch(row) {
  const entry = signed.read(row.chain);
  const found = [...wallets.values()].find(({ name }) => name === entry?.wallet);
  try {
    if (!entry) throw { say: "Unclear" }; // another tab has decided
    const lost = await settle(row, new Run(found && new Wallet(found)));
    if (lost?.isLeft) throw { say: "Unclear" };
    if (lost) return location.reload(); // the books know by now
    if (row.moved) showDone(row);
    else row.show("next", row.text);
  } catch (problem) {
    if (problem.halts) return halt(problem, entry.wallet);
    tell(row, problem, { wallet: entry?.wallet, network: row.name });
  }
}

// Moves money to the organizer's wallet, or pays back what is owed: network by network, each call
// signed by a wallet of this browser. The server says what to sign; money_calls.js decides whether.
// Whatever ends in between, the next look at the chain shows what is left.

import { onWallets } from "./browser_wallets.js";
import { arrived, approve, moves, paid, refunds } from "./money_calls.js";
import { Signed } from "./money_signed.js";
import { announce, counted, element, number, page, part, Row, say, short } from "./money_view.js";
import { Wallet } from "./money_wallet.js";

const FIND_MS = 300; // for wallets to announce themselves
const LOOK_MS = 1_000;
const BOOKS_MS = 5_000;
const PATIENCE_MS = 30_000; // then the server is asked whether it arrived
const MOVING_AT_ONCE = 2; // calls of 100 orders in one batch. A transaction has 16.7 million gas (EIP-7825).
const STOP = {}, AGAIN = {};

const { kind, tenant, csrf } = page.dataset;
const isMove = kind === "collections";
const owners = new Map((page.dataset.owners ?? "").split(" ").map((each) => [each.toLowerCase(), each]));
const signed = new Signed(tenant, kind);
const rows = [...page.querySelectorAll("[data-chain]")].map((item) => new Row(item));
const sum = rows.reduce((all, row) => all + row.amount, 0n);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let wallets = new Map();
let isRunning = false;
let isFound = false;
let stopped = null; // while it runs: a promise that fails when a person stops
let isStopped = false;

const startsNow = location.hash === "#start";
if (startsNow) history.replaceState(null, "", location.pathname);
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

const isPending = () => rows.some((row) => signed.read(row.chain));

// Shows a button for each wallet, while nothing that was signed is unseen.
function offer(text) {
  if (isRunning || !isFound) return;
  const isOff = isPending() || rows.every((row) => row.isOver);
  part("wallets").replaceChildren(...(isOff ? [] : [...wallets.values()]).map((found, at) => {
    const button = element("button", say("Start", { wallet: found.name }), at ? "" : "primary");
    button.type = "button";
    button.addEventListener("click", () => start(found));
    return button;
  }));
  if (wallets.size) part("other-ways").open = false;
  const ready = wallets.size > 1 ? "WalletMany" : wallets.size ? "Ready" : "WalletNone";
  part("lead").textContent = text ?? (isOff ? "" : say(ready));
}

async function start(found) {
  const isAlone = await signed.alone(() => run(new Wallet(found)));
  if (!isAlone) offer(say("OtherTab"));
}

async function run(wallet) {
  isRunning = true;
  part("wallets").replaceChildren();
  part("lead").textContent = "";
  part("what").textContent = say("What");
  isStopped = false;
  stopped = new Promise((_, reject) => {
    part("stop").querySelector("button").onclick = () => {
      isStopped = true;
      reject(STOP);
    };
  });
  stopped.catch(() => {});
  part("stop").hidden = false;
  for (const row of rows) if (!row.isOver) row.show("next", say("Next"));
  let text;
  try {
    for (const row of rows) {
      showProgress();
      if (!row.isOver) await Promise.race([work(row, wallet), stopped]);
    }
  } catch (error) {
    if (error !== STOP) throw error;
    text = say("Stopped");
    for (const row of rows) if (!row.isOver) row.show("wait", text);
  } finally {
    isRunning = false;
    stopped = null;
    part("stop").hidden = true;
    showProgress();
    offer(text);
  }
  showResult();
  resume();
}

// One network: asks the server what to sign, lets the wallet sign it, until nothing is left.
async function work(row, wallet) {
  let lost = null; // what was signed and did not come
  for (let isConfirmed = false; ;) {
    try {
      lost = (await settle(row, wallet)) ?? lost;
      await prompt(row, say("Connect", { wallet: wallet.name }), () => wallet.use(row.chain));
      row.show("now", say("Look", { network: row.name }));
      const answer = await proposal(row, wallet, isConfirmed);
      const calls = isMove ? moves(answer, row.token, owners) : refunds(answer, row);
      if (await isSeenLater(row, calls)) continue;
      row.notes(waits(row, answer));
      if (lost) {
        const unseen = lost;
        lost = null;
        look(row, unseen, calls);
      }
      if (!calls.length) return await finish(row, wallet);
      await sign(row, wallet, calls, answer);
    } catch (problem) {
      if (problem === STOP) throw STOP;
      if (problem === AGAIN) continue;
      if (problem.lost) {
        lost = problem.lost;
        continue;
      }
      isConfirmed = await explain(row, wallet, problem);
    }
  }
}

function proposal(row, wallet, isConfirmed) {
  const asked = { chain_id: row.chain };
  if (!isMove) return post("payouts", { ...asked, payer: wallet.account });
  return post("collections", isConfirmed ? { ...asked, owner_confirmed: "on" } : asked);
}

// The server's node may be behind the wallet's: it proposes what was just seen. Then it is asked again.
async function isSeenLater(row, calls) {
  const isRecent = (each) => Date.now() - (row.finished.get(each) ?? 0) < PATIENCE_MS;
  const isSeen = calls.some(({ parts }) => parts.some(isRecent));
  if (isSeen) await waitOrStop();
  return isSeen;
}

// What was signed and never came: not proposed any more, it has happened. Else a person decides.
function look(row, lost, calls) {
  const open = new Set(calls.flatMap(({ parts }) => parts));
  if (lost.calls.some(({ parts }) => parts.some((each) => open.has(each)))) throw { say: "Missing" };
  for (const call of lost.calls) count(row, call, call.payments ?? []);
}

async function sign(row, wallet, calls, { names }) {
  for (const call of calls) {
    for (const each of call.payments ?? []) each.name = names[each.intent] ?? say("Person");
  }
  const people = calls.flatMap((call) => call.payments ?? []);
  const now = (call) => (call.what === "approve" ? wallet.allowing(call) : [call]);
  if (calls.length > 1 && !row.isSingle && (await wallet.isAtomic(row.chain))) {
    const moving = calls.filter(({ what }) => what === "collect" || what === "refund");
    const last = moving.slice(0, MOVING_AT_ONCE).at(-1);
    const batch = (await Promise.all(calls.slice(0, calls.indexOf(last) + 1).map(now))).flat();
    try {
      return await signAndSettle(row, wallet, batch, true, people);
    } catch (problem) {
      if (!problem.isSingle) throw problem;
      row.isSingle = true;
    }
  }
  for (const call of calls) {
    for (const each of await now(call)) await signAndSettle(row, wallet, [each], false, people);
    // What comes after it was not tried by any node.
    if (call.what === "deploy") return;
  }
}

async function signAndSettle(row, wallet, calls, isBatch, people) {
  const head = await wallet.head();
  await wallet.check(row.chain);
  const kept = calls.map(({ what, owner, amount, payments, parts }) => ({ what, owner, amount, payments, parts }));
  const entry = { account: wallet.account, wallet: wallet.name, head, at: Date.now(), isBatch, calls: plain(kept) };
  // Stored as soon as the wallet answers, also if nobody waits for its answer any more.
  const asked = () => (isBatch ? wallet.sendAll(row.chain, calls) : wallet.send(row.chain, calls[0])).then((id) => {
    signed.write(row.chain, { ...entry, id });
    post("signed", { chain_id: row.chain }).catch(() => {});
    resume(); // if a person has stopped meanwhile
  });
  await prompt(row, say("Sign", { wallet: wallet.name }), asked, shown(row, wallet, calls, people));
  const lost = await settle(row, wallet);
  if (lost) throw { lost };
}

// Amounts as text, because JSON has no large numbers.
const plain = (calls) => JSON.parse(JSON.stringify(calls, (_, value) => (typeof value === "bigint" ? value.toString() : value)));

// Asks the wallet something that a person answers there, or never.
async function prompt(row, text, ask, pairs = []) {
  if (isStopped) throw STOP;
  row.show("now", text);
  row.shown(pairs);
  const again = row.buttons([say("Again")]).then(() => Promise.reject(AGAIN));
  const answer = ask();
  for (const each of [again, answer]) each.catch(() => {});
  const found = await Promise.race([answer, again, stopped]);
  row.buttons([]);
  return found;
}

// Waits for what was signed. Returns it if it did not come, and null otherwise.
async function settle(row, wallet) {
  const entry = signed.read(row.chain);
  if (!entry) return null;
  row.show("now", say("Waiting", { network: row.name }));
  for (let asked = 0, asOf = 0; ; await waitOrStop()) {
    const logs = await wallet?.logs(row.chain, entry);
    if (logs) {
      signed.forget(row.chain, entry);
      judge(row, entry, logs);
      return null;
    }
    if (!signed.read(row.chain)) return null; // another tab has seen it
    if (Date.now() - asked > BOOKS_MS) {
      asked = Date.now();
      asOf = await post("signed", { chain_id: row.chain }).then((it) => Date.parse(it.as_of) / 1000, () => 0);
    }
    if (Date.now() - entry.at > PATIENCE_MS && asOf > entry.head) {
      signed.forget(row.chain, entry);
      return entry;
    }
  }
}

const waitOrStop = () => Promise.race([pause(LOOK_MS), ...(stopped ? [stopped] : [])]);

// Counts what the logs show. What moves nothing has failed, whatever its status says.
function judge(row, { calls, account }, logs) {
  const ids = paid(logs, account);
  const seen = new Set();
  let isWanted = false, isSeen = false;
  for (const call of calls) {
    if (call.what !== "collect" && call.what !== "refund") continue;
    isWanted = true;
    if (call.what === "refund") {
      const some = call.payments.filter(({ id }) => ids.has(id));
      if (some.length) count(row, { ...call, parts: some.map(({ id }) => id) }, some);
      isSeen ||= some.length > 0;
      continue;
    }
    const amount = seen.has(call.owner) ? 0n : arrived(logs, row.token, call.owner);
    isSeen ||= seen.has(call.owner) || amount > 0n;
    if (amount || seen.has(call.owner)) count(row, { ...call, amount }, []);
    seen.add(call.owner);
  }
  if (isWanted && !isSeen) throw { say: "Reverted" };
}

function count(row, call, payments) {
  for (const each of call.parts) row.finished.set(each, Date.now());
  if (call.what === "refund") {
    for (const { name, amount } of payments) row.people.push({ name, amount: row.micro(amount) });
    row.moved += payments.reduce((all, { amount }) => all + row.micro(amount), 0n);
  } else if (call.what === "collect") {
    row.moved += row.micro(call.amount);
    row.owner = call.owner;
  }
  showProgress();
}

async function finish(row, wallet) {
  row.isOver = true;
  if (!row.moved) return row.show("wait", say("Nothing", { network: row.name }));
  showDone(row);
  const allowed = isMove ? 0n : await wallet.allowance(row.token).catch(() => 0n);
  if (allowed) takeBack(row, wallet, allowed);
}

const showDone = (row) => row.show("done", say("Done", { address: row.owner ? short(owners.get(row.owner)) : "" }));

// Offers to take back an allowance that is left over.
async function takeBack(row, wallet, allowed) {
  row.notes([say("Allowance", { amount: number(row.micro(allowed)) })]);
  await row.buttons([say("TakeBack")]);
  await signed.alone(async () => {
    try {
      await wallet.use(row.chain);
      await wallet.check(row.chain);
      const entry = { id: await wallet.send(row.chain, approve(row.token, 0n)), isBatch: false };
      while (!(await wallet.logs(row.chain, entry))) await pause(LOOK_MS);
      row.notes([]);
      row.buttons([]);
    } catch {
      takeBack(row, wallet, allowed);
    }
  });
}

// Says what went wrong, and waits for a press. Returns whether it confirms the owner's address.
async function explain(row, wallet, problem) {
  if (problem instanceof Error) console.warn(problem);
  const values = { wallet: wallet.name, network: row.name };
  row.show("wait", problem.sentence ?? say(problem.say ?? "Failed", values));
  const isAsked = problem.code === "owner_not_confirmed";
  await Promise.race([row.buttons([say(isAsked ? "Confirm" : "Again", values)]), stopped]);
  return isAsked;
}

// Why something is left after it was signed.
function waits(row, { transactions, blocked, left, listed_for_another: others, balance }) {
  const values = { network: row.name };
  const refused = blocked.filter(({ reason }) => reason !== "already_paid");
  const texts = refused.length ? [counted("Blocked", refused.length)] : [];
  if (isMove && left.orders && !transactions.length) {
    texts.push(say("Left", { amount: number(row.micro(left.atomic_amount)) }));
  }
  if (!isMove && left) texts.push(counted("Balance", left, { ...values, amount: number(BigInt(balance)) }));
  if (others?.length) {
    const until = others.map((each) => each.until).sort().at(-1);
    const shownTime = new Date(until).toLocaleString(document.documentElement.lang);
    texts.push(counted("Another", others.length, { until: shownTime }));
  }
  return texts;
}

// What the wallet will show, in words.
function shown(row, wallet, calls, people) {
  const pairs = [];
  for (const call of calls) {
    if (call.what === "deploy") pairs.push([say("Deploy", { network: row.name }), say("DeployValue")]);
    if (call.what === "collect") {
      pairs.push([say("To"), say("ToValue", { address: short(owners.get(call.owner)) })]);
      pairs.push([say("From"), counted("Orders", call.parts.length)]);
    }
    if (call.what === "approve") {
      pairs.push([say("Allow"), say("AllowValue", { amount: number(row.micro(call.amount)) })]);
      if (calls.length === 1 && call.amount) pairs.push([say("AllowNote"), ""], ...payees(row, people));
    }
    if (call.what === "refund") {
      pairs.push([say("From"), say("FromValue", { address: short(wallet.account) })]);
      pairs.push(...payees(row, call.payments));
    }
  }
  return pairs;
}

function payees(row, payments) {
  const all = payments.reduce((total, { amount }) => total + row.micro(amount), 0n);
  return [
    ...payments.map(({ name, amount, shown: address }) => [name, number(row.micro(amount)), address]),
    [say("All"), number(all)],
  ];
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

function showResult() {
  const moved = rows.reduce((all, row) => all + row.moved, 0n);
  if (!moved || !rows.every((row) => row.isOver)) return;
  const title = say("Title", { sum: number(moved) });
  announce(title);
  part("what").textContent = title;
  // The title has the sum. It is not shown twice.
  part("what").className = "";
  for (const id of ["sum-line", "progress", "place"]) part(id).hidden = true;
  if (isMove) return;
  const people = rows.flatMap((row) => row.people.map((each) => ({ ...each, network: row.name })));
  part("result-people").textContent = counted("People", people.length);
  part("result").querySelector("ul").replaceChildren(...people.map(({ name, amount, network }) => {
    const item = element("li");
    const left = element("span", name, "line-name"), right = element("b", number(amount));
    left.append(element("span", say("On", { network }), "choice-note"));
    right.append(element("span", say("Paid"), "choice-note"));
    item.append(left, right);
    return item;
  }));
  part("result").hidden = false;
}

// After a reload, or for another tab: shows what was signed, until it is seen or given up.
async function resume() {
  for (const row of rows) {
    const entry = signed.read(row.chain);
    if (!entry || isRunning || row.isWatched) continue;
    row.isWatched = true;
    offer();
    const found = [...wallets.values()].find(({ name }) => name === entry.wallet);
    settle(row, found && new Wallet(found))
      .then((lost) => {
        if (lost) return location.reload(); // the books know by now
        return row.moved ? showDone(row) : row.show("next", row.text);
      })
      .catch((problem) => row.show("wait", say(problem.say ?? "Failed", { network: row.name })))
      .finally(() => {
        row.isWatched = false;
        showResult();
        offer();
      });
  }
}

async function post(path, fields) {
  const body = new URLSearchParams({ csrf_token: csrf, ...fields });
  let answer, found;
  try {
    answer = await fetch(`/console/money/${path}`, { method: "POST", body, redirect: "error" });
    found = await answer.json();
  } catch {
    throw { say: "Session" };
  }
  if (!answer.ok) throw found;
  return found;
}

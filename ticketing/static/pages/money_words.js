// What the pages that move money say about a list: what the wallet will show, and what is left.

import { counted, element, isolated, number, page, say, short } from "./money_view.js";

const language = document.documentElement.lang.replace(/^en$/, "en-GB"); // as the server writes dates
export const date = (time) => new Date(time).toLocaleDateString(language, { day: "numeric", month: "long" });
const camel = (name) => name.split("_").map((each) => each[0].toUpperCase() + each.slice(1)).join("");

// A time in few words: "today, 14:05", or with its day.
function moment(time) {
  const at = new Date(time), isToday = at.toDateString() === new Date().toDateString();
  const day = isToday ? new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "day") : date(time);
  return `${day}, ${at.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" })}`;
}

// Why orders wait, and the texts that say so.
const WHY = {
  transfer_fails: "Blocked",
  not_final: "NotFinal",
  another_balance: "AnotherBalance",
  not_over: "NotOver",
  out_of_reach: "OutOfReach",
};

// Directly after their money was moved, orders hold nothing, and the books do not know it yet.
function blockedOrders(row, blocked) {
  const waiting = blocked.filter(({ atomic_amount: amount }) => amount || !row.moved);
  return Object.entries(WHY).flatMap(([reason, what]) => {
    const count = waiting.filter((each) => each.reason === reason).length;
    return count ? [counted(what, count, { network: row.name })] : [];
  });
}

// Why something is left after it was signed: texts, or { text, orders }.
export function waits(row, answer, isMove) {
  return isMove ? leftToMove(row, answer) : leftToPay(row, answer);
}

function leftToMove(row, { transactions, blocked, left }) {
  const texts = blockedOrders(row, blocked);
  if (left.atomic_amount && !transactions.length) {
    const isLess = "minimum" in page.dataset;
    texts.push(isLess ? say("Left", { amount: number(row.micro(left.atomic_amount)) }) : counted("Later", left.orders));
  }
  return texts;
}

// The notices of the page have these, with links.
const ELSEWHERE = ["no_payee", "by_hand"];

function leftToPay(row, { blocked, left, listed_for_another: others, balance, names }) {
  const named = (orders) => orders.map((each) => ({ ...each, name: names[each.intent_id] ?? say("Person"), below: question(row, each) }));
  const notes = row.problems.map(({ kind, orders, isTold }) => ({
    text: `${counted(kind === "used" ? "WasUsed" : "WasOther", orders.length)} ${say(isTold ? "ToldOperator" : "NotTold")}`,
    orders,
  }));
  const reasons = [...new Set(blocked.map(({ reason }) => reason))].filter((each) => !ELSEWHERE.includes(each));
  for (const reason of reasons) {
    const orders = blocked.filter((each) => each.reason === reason);
    const until = latest(orders);
    const values = { network: row.name, until, amount: number(BigInt(balance ?? 0)) };
    notes.push({ text: counted(`Why${camel(reason)}`, orders.length, values), orders: named(orders) });
  }
  if (others.length) {
    notes.push({ text: counted("Another", others.length, { until: latest(others) }), orders: named(others) });
  }
  if (left.orders) notes.push(counted("Later", left.orders));
  return notes;
}

// The link to the page on which an admin says what a payment was that holds a refund back.
function question(row, { intent_id: intent, payer, payment_id: id }) {
  if (!id || !say("WhatWasIt")) return [];
  const link = element("a", say("WhatWasIt"), "choice-note");
  link.href = `/console/refunds/${intent}/pass-over?${new URLSearchParams({ payer, payment_id: id, chain_id: row.chain, token_address: row.token })}`;
  return [link];
}

function latest(orders) {
  const found = orders.map((each) => each.until).filter(Boolean).sort().at(-1);
  return found ? moment(found) : "";
}

// What decides where a refund goes, and what is worth knowing about it.
export function decided({ source, entered_by: who, effective_at: at, stated_today: isToday, differs_from_payer: differs }) {
  const when = at ? moment(at) : "";
  const by = { signer: say("ToPayer"), wallet: say("ToPayer"), entered: who ? say("EnteredBy", { who: isolated(who), when }) : say("Entered") };
  const texts = [by[source] ?? say("Stated")];
  if (isToday && source !== "entered") texts.push(say("StatedToday"));
  if (differs) texts.push(say("Differs"));
  return texts.join(" · ");
}

// A caution in words, which a person confirms with a tick.
export const caution = (name) => say(`Caution${camel(name)}`);

// What the wallet will show, in words.
export function shown(row, wallet, calls, people, owners) {
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
    ...payments.map(({ name, amount, shown: address, note }) => [name, number(row.micro(amount)), address, note]),
    [say("All"), number(all)],
  ];
}

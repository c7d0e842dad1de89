// What the pages that move money say about a list: what the wallet will show, and what is left.

import { counted, number, page, say, short } from "./money_view.js";

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

// Why something is left after it was signed.
export function waits(row, { transactions, blocked, left, listed_for_another: others, balance }, isMove) {
  const values = { network: row.name };
  const refused = blocked.filter(({ reason }) => reason !== "already_paid").length;
  const texts = isMove ? blockedOrders(row, blocked) : refused ? [counted("Blocked", refused)] : [];
  if (isMove && left.atomic_amount && !transactions.length) {
    const isLess = "minimum" in page.dataset;
    texts.push(isLess ? say("Left", { amount: number(row.micro(left.atomic_amount)) }) : counted("Later", left.orders));
  }
  if (!isMove && left) {
    const isEnough = BigInt(balance) >= row.amount - row.moved;
    texts.push(counted(isEnough ? "Later" : "Balance", left, { ...values, amount: number(BigInt(balance)) }));
  }
  if (others?.length) {
    const until = others.map((each) => each.until).sort().at(-1);
    const shownTime = new Date(until).toLocaleString(document.documentElement.lang);
    texts.push(counted("Another", others.length, { until: shownTime }));
  }
  return texts;
}

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
    ...payments.map(({ name, amount, shown: address }) => [name, number(row.micro(amount)), address]),
    [say("All"), number(all)],
  ];
}

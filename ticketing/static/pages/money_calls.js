// The only calls that the console lets a wallet sign, decoded from the very bytes, and their logs.
// Whatever else the server sends is refused here. docs/receivers.md explains the contracts.

export const FACTORY = "0x10e1a01a087937ba2fd722dab83122dc3028a81a";
export const PROXY = "0x4e59b44847b379578588920ca78fbf26c0b4956c"; // puts the factory on a network
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const REFUNDED = "0xda90e08f23a6f9c7c958e458a0a30977ec193922f2706ace02e942d1de4401d5";
const COLLECT = "0x7960074b";
const REFUND = "0xc955cfa5";
const APPROVE = "0x095ea7b3";
const NO_SALT = "0".repeat(64);

const padded = (value) => BigInt(value).toString(16).padStart(64, "0");
const address = (word) => {
  check(word.startsWith("0".repeat(24)));
  return `0x${word.slice(24)}`;
};

export const approve = (token, amount) => ({
  what: "approve", to: token, data: `${APPROVE}${padded(FACTORY)}${padded(amount)}`, amount, parts: ["approve"],
});
export const allowanceOf = (account) => `0xdd62ed3e${padded(account)}${padded(FACTORY)}`;
export const refundedOf = ({ payer, id }) => `0xd3b581bd${padded(payer)}${id.slice(2)}`;

// Many calls of the factory in one, by Multicall3, which most networks have: the data of `aggregate3`.
export const MULTICALL = "0xca11bde05977b3631167028862be2a173976ca11";
export function refundedOfAll(pairs) {
  const calls = pairs.map((pair) => {
    const data = refundedOf(pair).slice(2); // 68 bytes
    return `${padded(FACTORY)}${padded(1)}${padded(96)}${padded(68)}${data.padEnd(192, "0")}`;
  });
  const heads = calls.map((each, at) => padded(32 * calls.length + (at * each.length) / 2));
  return `0x82ad56cb${padded(32)}${padded(calls.length)}${heads.join("")}${calls.join("")}`;
}

// What `aggregate3` has answered: true or false for each call, or undefined for all if it is no
// such answer. A factory without code has used nothing.
export function refundedAll(answer, count) {
  const words = typeof answer === "string" ? answer.slice(2).match(/.{64}/g) ?? [] : [];
  const number = (at) => Number(`0x${words[at] ?? "x"}`);
  if (number(1) !== count) return undefined;
  const found = Array.from({ length: count }, (_, each) => {
    const at = 2 + number(2 + each) / 32;
    if (number(at) !== 1) return undefined;
    return number(at + 2) === 0 ? false : number(at + 2) === 32 ? [false, true][number(at + 3)] : undefined;
  });
  return found.includes(undefined) ? undefined : found;
}

function check(holds) {
  if (!holds) throw { say: "Unknown" };
}

// Returns the transactions of the server's answer, decoded, or throws. `token` is the network's.
// Each has `what` it does, `to`, `data`, and the `parts` that it settles: no part is done twice.
export function moves({ transactions }, token, owners) {
  return transactions.map(({ to, data, atomic_amount }) => {
    const call = decoded(to.toLowerCase(), data.toLowerCase());
    check(call.what === "deploy" || call.what === "collect");
    check(call.what === "deploy" || (call.token === token && owners.has(call.owner)));
    return { ...call, amount: BigInt(atomic_amount) };
  });
}

// The same for refunds. Who gets what must be what the list says, and the allowance its sum. `micro`
// turns units of the token into micro-units.
export function refunds({ transactions, payments, valid_before }, { token, micro }) {
  const calls = transactions.map(({ to, data }) => decoded(to.toLowerCase(), data.toLowerCase()));
  const listed = new Map(payments.map((each) => [each.id, each]));
  let sum = 0n;
  for (const call of calls) {
    if (call.what === "deploy") continue;
    check(call.token === token && call.what !== "collect");
    if (call.what === "approve") continue;
    check(call.validBefore === BigInt(Date.parse(valid_before)) / 1000n);
    for (const each of call.payments) {
      const asListed = listed.get(each.id);
      check(asListed?.to.toLowerCase() === each.to && BigInt(asListed.amount) === micro(each.amount));
      each.intent = asListed.intent_id;
      each.shown = asListed.to; // the same address with its checksum
      listed.delete(each.id);
      sum += each.amount;
    }
  }
  const allowed = calls.filter(({ what }) => what === "approve");
  check(listed.size === 0 && allowed.length <= 1 && allowed.every(({ amount }) => amount === sum));
  return calls;
}

function decoded(to, data) {
  check(/^0x([0-9a-f]{2})*$/.test(data));
  if (to === PROXY) {
    check(data.slice(2, 66) === NO_SALT);
    return { what: "deploy", to, data, parts: ["deploy"] };
  }
  const words = data.slice(10).match(/.{64}/g) ?? [];
  check(data.length === 10 + 64 * words.length);
  const number = (at) => BigInt(`0x${words[at] ?? "0"}`);
  const selector = data.slice(0, 10);
  if (selector === APPROVE) {
    check(words.length === 2 && address(words[0]) === FACTORY);
    return { what: "approve", to, data, token: to, amount: number(1), parts: ["approve"] };
  }
  check(to === FACTORY);
  if (selector === COLLECT) {
    const salts = words.slice(5);
    check(words.length >= 5 && number(3) === 128n && number(4) === BigInt(salts.length));
    return { what: "collect", to, data, owner: address(words[0]), token: address(words[1]), parts: salts };
  }
  check(selector === REFUND && words.length >= 4);
  check(number(2) === 96n && number(3) * 3n === BigInt(words.length - 4));
  const payments = [];
  for (let at = 4; at < words.length; at += 3) {
    payments.push({ id: `0x${words[at]}`, to: address(words[at + 1]), amount: number(at + 2) });
  }
  const parts = payments.map(({ id }) => id);
  return { what: "refund", to, data, token: address(words[0]), validBefore: number(1), payments, parts };
}

const isOf = (log, contract, topic) => log.address.toLowerCase() === contract && log.topics[0] === topic;
const topicOf = (account) => `0x${padded(account)}`;

// Whether a receipt has a payment as the server says it.
export function hasTransfer(receipt, payment, token) {
  try {
    const log = receipt.logs.find(({ logIndex }) => Number(logIndex) === payment.log_index);
    return Number(receipt.status) === 1
      && receipt.blockHash.toLowerCase() === payment.block_hash.toLowerCase()
      && isOf(log, token, TRANSFER)
      && log.topics[2] === topicOf(payment.address)
      && BigInt(log.data) === BigInt(payment.atomic_amount);
  } catch {
    return false;
  }
}

// How much of a token arrived at its owner. A status says nothing: a call of no contract succeeds.
export function arrived(logs, token, owner) {
  return logs
    .filter((log) => isOf(log, token, TRANSFER) && log.topics[2] === topicOf(owner) && log.topics[1] !== topicOf(owner))
    .reduce((sum, log) => sum + BigInt(log.data), 0n);
}

// Which ids of some payments were used, by whomever: [{ id, payer, isPaid, hash }]. `isPaid`: in this
// token, for this payee and amount. Other people's transactions may be in the same receipt, and a
// stranger may use any id for something else.
export function uses(logs, payments, token) {
  const wanted = new Map(payments.map((each) => [each.id, each]));
  const events = logs.filter((log) => isOf(log, FACTORY, REFUNDED) && wanted.has(log.topics[2]));
  return events.map(({ topics, data, transactionHash }) => {
    const [paidIn, to, amount] = data.slice(2).match(/.{64}/g);
    const payment = wanted.get(topics[2]);
    const isPaid = address(paidIn) === token && address(to) === payment.to && BigInt(`0x${amount}`) === BigInt(payment.amount);
    return { id: topics[2], payer: `0x${topics[1].slice(26)}`, isPaid, hash: transactionHash };
  });
}

// The filter for the events of some ids, whoever paid. `since`: a block's number.
export const eventsOf = (ids, since) => ({
  address: FACTORY, fromBlock: `0x${since.toString(16)}`, toBlock: "latest", topics: [REFUNDED, null, ids],
});

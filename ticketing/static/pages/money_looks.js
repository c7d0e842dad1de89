// The refunds that somebody has to look at before they are listed: payments that the wallet's node
// does not know, with one tick for all, and payees with cautions, with one tick for each.

import { counted, element, line, say } from "./money_view.js";
import { caution, date, decided } from "./money_words.js";

// Shows them below a network. `onPay` gets where those go that were ticked, by order.
export function showLooks(row, wallet, onPay) {
  const { unknown, cautioned, waiting } = row.looks;
  const sections = [];
  if (unknown.length) sections.push(ofUnknown(row, wallet, unknown, onPay));
  if (cautioned.length) sections.push(ofCautioned(row, wallet, cautioned, waiting, onPay));
  row.showLooks(sections);
}

function ofUnknown(row, wallet, orders, onPay) {
  const box = tick(unknownText(orders.flatMap(({ payments }) => payments), orders.length));
  const button = pay(row, wallet, () => onPay(places(orders)));
  const update = () => {
    button.disabled = !box.input.checked;
  };
  box.input.addEventListener("change", update);
  update();
  const lines = orders.map((each) => line(each, ...about(each), ...links(row, each)));
  return section(say("UnknownTitle"), lines, [box.label, button]);
}

// An order is paid when all its ticks are set. So one of them can be left out.
function ofCautioned(row, wallet, orders, waiting, onPay) {
  const boxes = orders.map((order) => {
    const texts = order.cautions.map((each) => caution(each));
    if (order.isUnknown) texts.push(unknownText(order.payments, 1));
    return texts.map(tick);
  });
  const ready = () => orders.filter((_, at) => boxes[at].every(({ input }) => input.checked));
  const button = pay(row, wallet, () => onPay(places(ready())));
  const update = () => {
    button.disabled = !ready().length;
  };
  for (const { input } of boxes.flat()) input.addEventListener("change", update);
  update();
  const lines = orders.map((each, at) => {
    const item = line(each, ...about(each), ...(each.isUnknown ? links(row, each) : []));
    item.append(...boxes[at].map(({ label }) => label));
    return item;
  });
  const more = waiting > orders.length ? [element("p", say("CautionedMore", { count: orders.length, all: waiting }), "small")] : [];
  return section(say("CautionedTitle"), lines, [...more, button]);
}

const places = (orders) => new Map(orders.map(({ intent_id: intent, to }) => [intent, to]));

function about(order) {
  return [element("code", order.to, "choice-note hash"), element("span", decided(order), "choice-note")];
}

// The payments that were not seen, each with a link to look at it.
function links(row, { payments, witnessed }) {
  if (!payments.length) return [element("span", say(witnessed ? "IdsUnknown" : "PaymentsMany"), "choice-note")];
  return payments.map(({ tx_hash: hash, block_time: time }) => {
    const note = element("span", "", "choice-note");
    if (!row.explorer) note.append(say("Payment", { date: date(time) }), " ", element("code", hash, "hash"));
    else {
      const link = element("a", say("SeePayment", { date: date(time), network: row.name }));
      Object.assign(link, { href: `${row.explorer}/tx/${hash}`, target: "_blank", rel: "noopener noreferrer" });
      note.append(link);
    }
    return note;
  });
}

function unknownText(payments, orders) {
  if (!payments.length) return counted("UnknownOrders", orders);
  const oldest = payments.map((each) => each.block_time).sort()[0];
  return counted("UnknownPayments", payments.length, { date: date(oldest) });
}

function tick(text) {
  const label = element("label", "", "check"), input = element("input");
  input.type = "checkbox";
  label.append(input, element("span", text));
  return { label, input };
}

function pay(row, wallet, act) {
  const button = element("button", say("PayThese", { wallet: wallet.name }));
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

let made = 0;
function section(title, lines, below) {
  const found = element("section", "", "look"), heading = element("h3", title), all = element("ul", "", "lines");
  heading.id = `look-${(made += 1)}`;
  found.setAttribute("aria-labelledby", heading.id);
  all.append(...lines);
  found.append(heading, all, ...below);
  return found;
}

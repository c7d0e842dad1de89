// The screen that sells to people at the door: what, how many, a QR code to pay, and then they are let in.
//
// A sale is on the disk before the server is asked for it, with a key of its own. So after a lost network or a reload
// it goes on where it was: the same key returns the same order, and the same nonces let nobody in twice.
//
//   { key, ticketId, ticket, quantity }   chosen
//   + intent, and its pictures            ordered
//   + status, due                         as the server says
//   + scans                               paid: its tickets are redeemed with these
//   + isOver, ending                      `in`, `not-in`, `expired`, `canceled`

import { NoAnswer, Refused } from "./api.js";
import { written } from "./door.js";
import { fill, find, open } from "./page.js";
import { allowSound, keepScreenOn, signal } from "./signals.js";
import { amount, has, number, say } from "./words.js";

const EVERY = 2000;
const STILL_RUNNING = "idempotency_still_running";
const ENDED = new Set(["expired", "canceled", "reversed"]);
const LINK = "order_qr";
const CODES = ["payment_qr", "address_qr", LINK];

export class Selling {
  constructor(door, back) {
    this.door = door;
    this.screen = find("selling");
    this.code = CODES[0];
    this.turn = Promise.resolve();
    find("selling-back").addEventListener("click", back);
    find("sell-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    find("sale-next").addEventListener("click", () => this.choose(undefined));
    find("sale-cancel").addEventListener("click", () => this.cancel());
    for (const each of find("sale-codes").children) {
      each.addEventListener("click", () => {
        this.code = each.dataset.code;
        this.show();
      });
    }
  }

  use(sync) {
    this.surface = sync.surface;
    this.sync = sync;
    this.run();
  }

  async open() {
    await this.keep((sales) => sales.filter((each) => !each.isOver));
    allowSound();
    find("sell-error").textContent = "";
    open("selling");
    keepScreenOn();
    this.choose(this.door.sales.length === 1 ? this.door.sales[0].key : undefined);
    this.run();
  }

  // Sales that wait go on: their people may pay while others are scanned.
  close() {
    this.chosen = undefined;
  }

  // Goes on with everything that waits, one after the other, and plans the next time.
  run() {
    this.running ??= this.goOn().finally(() => {
      this.running = undefined;
      clearTimeout(this.timer);
      const isNeeded = !this.screen.hidden || this.waiting.length > 0;
      if (isNeeded && this.door.isPaired) this.timer = setTimeout(() => this.run(), EVERY);
    });
    return this.running;
  }

  get waiting() {
    return this.door.sales.filter((each) => !each.isOver);
  }

  async goOn() {
    let isOffline = false;
    const attempt = async (act) => {
      try {
        await act();
      } catch (error) {
        if (!(error instanceof NoAnswer || error instanceof Refused)) throw error;
        if (error instanceof Refused && error.isRevoked) this.sync.run();
        isOffline ||= error instanceof NoAnswer && !error.cause?.code;
      }
    };
    for (const { key } of this.waiting) await attempt(() => this.advance(key));
    if (!this.screen.hidden) await attempt(() => this.readTypes());
    find("selling-offline").hidden = !isOffline;
    this.show();
  }

  async begin() {
    const ticketId = new FormData(find("sell-form")).get("ticket");
    const type = this.types?.find((each) => each.id === ticketId);
    if (!type) return;
    const quantity = find("sell-quantity").valueAsNumber;
    const sale = { key: crypto.randomUUID(), ticketId, ticket: type.name, quantity };
    await this.keep((sales) => [...sales, sale]);
    find("sell-error").textContent = "";
    find("sell-quantity").value = 1;
    this.code = CODES[0];
    this.choose(sale.key);
    await this.running;
    this.run();
  }

  // One step of a sale. Each can be repeated: the server does it once.
  async advance(key) {
    const sale = this.sale(key);
    if (!sale.intent) {
      await this.order(sale);
      return;
    }
    const action = sale.intent.amount === 0 || sale.status === "confirmed" ? "purchase" : undefined;
    const { json } = await this.surface.order(sale.intent, action);
    await this.change(key, { status: json.status, due: json.amount_due });
    if (ENDED.has(json.status)) await this.change(key, { isOver: true, ending: json.status === "canceled" ? "canceled" : "expired" });
    else if (json.status === "confirmed" && action) await this.letIn(key, json.admissions);
    else if (json.status === "confirmed") await this.advance(key);
  }

  async order(sale) {
    try {
      const { json } = await this.surface.sell(sale);
      const names = ["id", "client_secret", "amount", "currency", "network", ...CODES];
      const intent = Object.fromEntries(names.map((name) => [name, json[name]]));
      await this.change(sale.key, { intent, status: json.status, due: json.amount_due });
    } catch (error) {
      const code = error.cause?.code ?? error.code;
      if (!code || code === STILL_RUNNING || error.isRevoked) throw error;
      await this.keep((sales) => sales.filter((each) => each.key !== sale.key));
      find("sell-error").textContent = has(`sell-${code}`) ? say(`sell-${code}`) : say("sell-refused", { code });
      signal("bad");
    }
  }

  async letIn(key, admissions) {
    const scans = this.sale(key).scans ?? admissions.map(({ code }) => (
      { nonce: crypto.randomUUID(), kind: "redeem", code, at: written(Date.now()) }
    ));
    await this.change(key, { scans });
    const { json } = await this.surface.scans({ sent_at: written(Date.now()), scans, unsynced: this.door.queue.length });
    const isIn = json.results.every((each) => each.outcome === "admitted");
    await this.change(key, { isOver: true, ending: isIn ? "in" : "not-in" });
    signal(isIn ? "good" : "bad");
    this.sync.pull();
  }

  async cancel() {
    const key = this.chosen;
    const sale = this.sale(key);
    if (!sale) return;
    try {
      if (sale.intent) await this.surface.order(sale.intent, "cancel");
      await this.change(key, { isOver: true, ending: "canceled" });
      this.choose(undefined);
    } catch (error) {
      if (!(error instanceof NoAnswer || error instanceof Refused)) throw error;
      const isRefused = (error.cause?.code ?? error.code) === "intent_not_cancelable";
      find("sell-error").textContent = say(isRefused ? "sale-not-canceled" : "offline");
    }
    this.show();
  }

  async readTypes() {
    this.types = (await this.surface.boxOffice()).json.ticket_types;
    const shown = JSON.stringify(this.types);
    if (shown === this.shown) return;
    this.shown = shown;
    const chosen = new FormData(find("sell-form")).get("ticket") ?? this.types[0]?.id;
    find("sell-types").replaceChildren(...this.types.map((each) => option(each, each.id === chosen)));
    find("sell-nothing").hidden = this.types.length > 0;
    find("sell-form").querySelector("button").disabled = this.types.length === 0;
  }

  choose(key) {
    this.chosen = key;
    this.show();
  }

  sale(key) {
    return this.door.sales.find((each) => each.key === key);
  }

  // One change after another: each begins with what the last one has written.
  keep(changed) {
    this.turn = this.turn.then(() => this.door.keepSales(changed(this.door.sales)));
    return this.turn;
  }

  change(key, changes) {
    return this.keep((sales) => sales.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  }

  show() {
    if (this.screen.hidden) return;
    const sale = this.sale(this.chosen);
    find("sell-form").hidden = sale !== undefined;
    find("sale").hidden = sale === undefined;
    if (sale) this.showSale(sale);
    const others = this.waiting.filter((each) => each.key !== this.chosen);
    find("sales-open").hidden = others.length === 0;
    const texts = others.map((each) => `${each.key} ${stateOf(each)}`).join();
    if (texts === this.listed) return;
    this.listed = texts;
    find("sales").replaceChildren(...others.map((each) => this.line(each)));
  }

  showSale(sale) {
    const { intent } = sale;
    fill(this.screen, {
      title: !intent ? "" : intent.amount ? say("sale-title", { amount: price(intent.amount, intent), network: intent.network }) : say("sale-free"),
      what: say("sale-what", { number: number(sale.quantity), ticket: sale.ticket }),
      caption: say(`code-${this.code}`),
    });
    const state = find("sale-state");
    state.dataset.state = { in: "good", undefined: "wait" }[sale.ending] ?? "bad";
    if (state.textContent !== stateOf(sale)) state.textContent = stateOf(sale);
    // What has ended is not paid any more. Its link is for money that came all the same.
    const shown = sale.ending === "in" ? [] : sale.isOver ? [LINK] : CODES;
    const picture = shown.includes(this.code) ? intent?.[this.code] : undefined;
    find("sale-figure").hidden = !picture;
    if (picture) find("sale-qr").src = picture;
    for (const each of find("sale-codes").children) {
      each.hidden = !shown.includes(each.dataset.code) || !intent?.[each.dataset.code];
      each.setAttribute("aria-pressed", String(each.dataset.code === this.code));
    }
    find("sale-cancel").hidden = sale.isOver || sale.status === "processing" || sale.status === "confirmed";
  }

  line(sale) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = say("sale-open", {
      number: number(sale.quantity), ticket: sale.ticket,
      amount: sale.intent ? price(sale.intent.amount, sale.intent) : "–", state: stateOf(sale),
    });
    button.addEventListener("click", () => this.choose(sale.key));
    item.append(button);
    return item;
  }
}

function stateOf({ ending, intent, status, due }) {
  if (ending) return say(`sale-${ending}`);
  if (!intent) return say("sale-asking");
  const isPart = status === "awaiting_payment" && due < intent.amount;
  return isPart ? say("sale-part", { amount: price(due, intent) }) : say(`sale-${status}`);
}

function price(microUnits, { currency }) {
  return `${amount(microUnits)} ${currency}`;
}

function option(type, isChosen) {
  const label = document.createElement("label");
  label.className = "option";
  const input = Object.assign(document.createElement("input"), {
    type: "radio", name: "ticket", value: type.id, checked: isChosen, required: true,
  });
  const name = document.createElement("bdi");
  name.textContent = type.name;
  label.append(input, name, ` ${type.price_amount ? price(type.price_amount, type) : say("sale-free")}`);
  return label;
}

// What the pages that move money show. All texts are in the page.

export const page = document.getElementById("money");
export const part = (id) => document.getElementById(id);

export function say(what, values = {}) {
  return (page.dataset[`say${what}`] ?? "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const counted = (what, count, values) => say(count === 1 ? `${what}One` : `${what}Many`, { ...values, count });
export const short = (text) => `${text.slice(0, 8)}…${text.slice(-6)}`;

export function announce(text) {
  part("status").textContent = text;
}

export function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A name that somebody wrote, whatever direction its characters have.
export const person = (name) => element("bdi", name);
export const isolated = (text) => `\u2068${text}\u2069`;

// An order in a list: { intent_id, name, amount } in micro-units, with more below its name.
export function line({ intent_id: intent, name, amount }, ...below) {
  const item = element("li"), left = element("span", "", "line-name"), link = element("a");
  link.href = `/console/refunds/${intent}`;
  link.append(person(name));
  left.append(link, ...below);
  item.append(left, element("b", number(amount)));
  return item;
}

// Micro-units as people read them.
export function number(micro) {
  const text = micro.toString().padStart(7, "0");
  const rest = text.slice(-6).replace(/0+$/, "").padEnd(2, "0");
  return `${text.slice(0, -6)}.${rest}`;
}

// Who was paid: { name, amount, network } each.
export function showPeople(people) {
  part("result-people").textContent = counted("People", people.length);
  part("result").querySelector("ul").replaceChildren(...people.map(({ name, amount, network }) => {
    const item = element("li");
    const left = element("span", "", "line-name"), right = element("b", number(amount));
    left.append(element("bdi", name), element("span", say("On", { network }), "choice-note"));
    right.append(element("span", say("Paid"), "choice-note"));
    item.append(left, right);
    return item;
  }));
  part("result").hidden = false;
}

// The row of one network.
export class Row {
  moved = 0n; // micro-units
  people = []; // who was paid: { name, amount }
  finished = new Map(); // when a part was seen on the network
  isSingle = false; // the wallet signs one call at a time
  allowed = 0n; // what the contract may still take of `payer`, atomic
  reasons = []; // why something is left
  paid = new Map(); // when an order was seen as paid
  known = new Set(); // payments that the wallet's node has seen, too
  ticked = new Map(); // where refunds go that a person has looked at, by order
  told = new Set(); // orders that were reported
  problems = []; // what the wallet's node says otherwise
  looks = null; // what a person has to look at: see money_list.js

  constructor(item) {
    this.item = item;
    const { chain, name, token, decimals, amount, explorer } = item.dataset;
    Object.assign(this, { name, explorer, chain: Number(chain), token: token.toLowerCase(), decimals: Number(decimals) });
    this.amount = BigInt(amount);
    this.text = this.#find(".move-state").textContent;
  }

  micro = (atomic) => {
    const more = BigInt(Math.abs(this.decimals - 6));
    return this.decimals < 6 ? BigInt(atomic) * 10n ** more : BigInt(atomic) / 10n ** more;
  };

  // `mark`: next, now, done or wait.
  show(mark, text) {
    this.item.className = mark;
    if (mark === "now") this.item.setAttribute("aria-current", "step");
    else this.item.removeAttribute("aria-current");
    this.#find(".move-state").textContent = text;
    this.shown([]);
    this.buttons([]);
    if (mark !== "next") announce(`${this.name}: ${text}`);
  }

  // How far something is. It is not announced.
  progress(text) {
    this.#find(".move-state").textContent = text;
  }

  // What the wallet shows: pairs of texts, the second one with an address and a note below it or
  // without.
  shown(pairs) {
    this.#find(".shown").replaceChildren(...pairs.map(([what, value, below, note]) => {
      const pair = element("div"), name = element("dt");
      name.append(person(what));
      pair.append(name, element("dd", value));
      if (below) name.append(element("code", below, "choice-note hash"));
      if (note) name.append(element("span", note, "choice-note"));
      return pair;
    }));
    this.#find(".shown").hidden = !pairs.length;
  }

  // Texts, or what has a text and `orders` that it is about: { text, orders }.
  notes(all) {
    this.#find(".notes").replaceChildren(...all.map((note) => {
      if (!note.orders) return element("li", note, "small");
      const item = element("li", "", "small"), named = element("details"), people = element("ul", "", "lines");
      people.append(...note.orders.map((each) => line(each, ...(each.below ?? []))));
      named.append(element("summary", note.text), people);
      item.append(named);
      return item;
    }));
    this.#find(".notes").hidden = !all.length;
  }

  // What a person has to look at, as elements.
  showLooks(sections) {
    this.#find(".looks").replaceChildren(...sections);
    this.#find(".looks").hidden = !sections.length;
  }

  hideLooks() {
    this.showLooks([]);
  }

  focus() {
    this.#find(".move-state").focus();
  }

  // Adds the link to "Your money" to what is shown.
  link() {
    this.#find(".move-state").append(" ", document.querySelector(".crumbs a").cloneNode(true));
  }

  // Shows buttons. Returns a promise of the first press. The focus does not vanish with a button.
  buttons(labels) {
    const box = this.#find(".actions");
    box.hidden = !labels.length;
    return new Promise((resolve) => {
      box.replaceChildren(...labels.map((label) => {
        const button = element("button", label, "small-button");
        button.type = "button";
        button.setAttribute("aria-label", `${label}: ${this.name}`);
        button.addEventListener("click", () => {
          this.focus();
          resolve(label);
        });
        return button;
      }));
    });
  }

  #find(selector) {
    return this.item.querySelector(selector);
  }
}

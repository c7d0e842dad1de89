// The page of an event: steppers for the numbers, the sum on the button, sharing, the reader's time.
// Without this script, the numbers are fields, and the sum is the first thing of the next page.

const form = document.getElementById("order-form");
const button = document.getElementById("order");
const bar = document.getElementById("buy-bar");
const cart = form ? [...form.querySelectorAll("input[data-unit]:not([type=radio])")] : [];
const quantity = document.getElementById("quantity");
// The pages' English writes the day before the month.
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

const micro = text => {
  const match = /^(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(text.trim());
  return match && BigInt(match[1] + (match[2] ?? "").padEnd(6, "0"));
};

// As formats.number of the service: at least two decimals, no others if they are 0.
const number = amount => {
  const digits = amount.toString().padStart(7, "0");
  const point = new Intl.NumberFormat(language).format(1.5).charAt(1);
  return `${digits.slice(0, -6)}${point}${digits.slice(-6).replace(/0+$/, "").padEnd(2, "0")}`;
};

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

const count = field => Math.max(0, Math.trunc(Number(field.value)) || 0);

const nameOf = field => field.closest(".type").querySelector(".type-name").textContent.trim();

const unitOf = field => {
  const typed = document.getElementById(field.id.replace("quantity.", "price."));
  return (typed && micro(typed.value)) ?? BigInt(field.dataset.unit);
};

// What is chosen: name, number of seats and price of each ticket type.
const lines = () => {
  if (!quantity) {
    return cart.map(field => [nameOf(field), count(field), unitOf(field)]).filter(([, n]) => n);
  }
  const chosen = form.querySelector("input[name=ticket_id]:checked");
  return chosen ? [[nameOf(chosen), count(quantity), BigInt(chosen.dataset.unit)]] : [];
};

const line = ([name, n, unit]) => {
  const row = document.createElement("div"), what = document.createElement("span"), sum = document.createElement("span");
  what.textContent = `${n} × ${name}`;
  sum.textContent = number(BigInt(n) * unit);
  row.append(what, sum);
  return row;
};

// The bar orders once the reader has chosen something, and leads to the form before. So it does not
// change while the page loads.
let hasChosen = false;

const choose = () => {
  hasChosen = true;
  show();
};

const show = () => {
  for (const field of quantity ? [quantity] : cart) {
    const [fewer, more] = field.parentElement.querySelectorAll("button");
    fewer.disabled = count(field) <= Number(field.min);
    more.disabled = count(field) >= Number(field.max);
    field.closest(".counted").classList.toggle("chosen", count(field) > 0);
  }
  const wanted = lines();
  const n = wanted.reduce((all, [, seats]) => all + seats, 0);
  const sum = wanted.reduce((all, [, seats, unit]) => all + BigInt(seats) * unit, 0n);
  const { plain, free, sum: words } = button.dataset;
  button.textContent = n ? fill(sum ? words : free, { n, sum: number(sum) }) : plain;
  document.getElementById("totals").replaceChildren(...(wanted.length > 1 ? wanted.map(line) : []));
  const orders = hasChosen && n > 0;
  bar?.classList.toggle("chosen", orders);
  if (bar) bar.querySelector("a").textContent = orders ? button.textContent : bar.dataset.plain;
};

const step = (field, by) => {
  const now = count(field), least = Number(field.dataset.least), next = now + by;
  // Fewer than the least are not sold: 0 comes before it.
  field.value = next >= least ? Math.min(next, Number(field.max)) : by > 0 ? least : Number(field.min);
  choose();
};

const makeStepper = field => {
  const name = nameOf(field);
  const make = (sign, words, by) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.setAttribute("aria-label", fill(words, { name }));
    made.addEventListener("click", () => step(field, by));
    return made;
  };
  const stepper = document.createElement("div");
  stepper.className = "stepper";
  field.replaceWith(stepper);
  stepper.append(make("−", form.dataset.fewer, -1), field, make("+", form.dataset.more, 1));
};

if (button) {
  button.dataset.plain = button.textContent;
  if (bar) bar.dataset.plain = bar.querySelector("a").textContent;
  for (const field of quantity ? [quantity] : cart) makeStepper(field);
  form.querySelector("[aria-invalid]")?.focus();
  form.addEventListener("input", choose);
  // A form that a browser fills in again after "back" changes without an event.
  addEventListener("pageshow", show);
  show();
}

// The bar leaves when the real button is in view. It orders when something is chosen.
if (bar && button) {
  new IntersectionObserver(([seen]) => { bar.hidden = seen.isIntersecting; }).observe(button);
  bar.querySelector("a").addEventListener("click", event => {
    if (!bar.classList.contains("chosen")) return;
    event.preventDefault();
    form.requestSubmit(button);
  });
}

const share = document.getElementById("share");
if (share && (navigator.share || navigator.clipboard)) {
  share.classList.remove("until-script");
  share.addEventListener("click", async () => {
    const url = document.querySelector("link[rel=canonical]").href;
    try {
      if (navigator.share) {
        await navigator.share({ title: document.querySelector("h1").textContent, url });
      } else {
        await navigator.clipboard.writeText(url);
        share.querySelector("span").textContent = share.dataset.sayCopied;
      }
    } catch {
      // The reader closed the sheet.
    }
  });
}

// Readers in the event's zone need no zone. Others see their own time beside it.
const facts = document.querySelector("[data-start]");
if (facts) {
  const start = new Date(facts.dataset.start), zone = facts.querySelector(".zone");
  const day = { day: "numeric", month: "short" }, time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const inZone = (timeZone, form) => start.toLocaleString(language, { timeZone, ...form });
  try {
    const there = facts.dataset.zone;
    if (inZone(undefined, { ...day, ...time }) === inZone(there, { ...day, ...time })) {
      zone.hidden = true;
    } else {
      // On a line that is there already, so nothing moves.
      const form = inZone(undefined, day) === inZone(there, day) ? time : { ...day, ...time };
      const said = document.createElement("span");
      said.textContent = " · " + fill(facts.dataset.say, { time: inZone(undefined, form) });
      facts.querySelector(".calendar").after(said);
    }
  } catch {
    // This browser does not know the zone.
  }
}

// Keeps the page of a payment link current: asks what is due, and shows the page again if it changed.

const LONGEST_PAUSE = 60;
const HIDDEN_PAUSE = 10;
const SHOWN_AGAIN_AFTER = 60_000; // The page knows more than the answer: whether the chain is seen.

const link = location.pathname.split("/")[2];
const [id, secret] = link.split(/\.(.*)/s);
const order = () => document.getElementById("order");

let pause = 0;
let shownAt = Date.now();
let waiting;
let tag; // the ETag of the payment as the page shows it

async function ask() {
  const { tenant, marker } = order().dataset;
  const answer = await get(`/v1/checkout/tenants/${tenant}/intents/${id}/payment`, {
    Authorization: `Bearer ${secret}`, ...(tag && { "If-None-Match": tag }),
  });
  const isShown = answer.status === 304 || markerOf(await answer.json()) === marker;
  if (isShown) tag = answer.headers.get("ETag");
  if (!isShown || Date.now() - shownAt > SHOWN_AGAIN_AFTER) await showAgain();
}

async function get(path, headers) {
  const answer = await fetch(path, { headers, cache: "no-store" });
  if (answer.ok || answer.status === 304) return answer;
  throw Object.assign(new Error(answer.status), { pause: Number(answer.headers.get("Retry-After")) });
}

// As PaymentView.marker in pages/payment_links.py.
function markerOf(it) {
  return [it.status, it.amount_due, it.confirmations, it.expires_at, it.payment_uri ?? ""].join(" ");
}

async function showAgain() {
  const answer = await get(`/_p/${link}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!page.getElementById("order")) return;
  const focused = document.activeElement?.id;
  order().replaceWith(page.getElementById("order"));
  // The element with the status stays: a screen reader speaks when its text changes.
  const [status, now] = [document, page].map((each) => each.getElementById("status"));
  document.title = page.title;
  status.className = now.className;
  if (status.textContent !== now.textContent) status.textContent = now.textContent;
  prepare();
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  shownAt = Date.now();
}

function prepare() {
  for (const each of order().querySelectorAll("[data-copy]")) each.hidden = !navigator.clipboard;
  for (const each of order().querySelectorAll("time[data-local]")) {
    const day = "withDay" in each.dataset ? { weekday: "long", day: "numeric", month: "long" } : {};
    const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }; // as the server writes it
    each.textContent = new Date(each.dateTime).toLocaleString(document.documentElement.lang, { ...day, ...time });
  }
  document.dispatchEvent(new Event("order-shown"));
}

async function copy(button) {
  const label = button.querySelector("[aria-live]");
  const before = label.textContent;
  if (before === button.dataset.sayCopied) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  label.textContent = button.dataset.sayCopied;
  setTimeout(() => { label.textContent = before; }, 2000);
}

async function keepAsking() {
  clearTimeout(waiting);
  const usual = Number(order().dataset.every);
  try {
    await ask();
    pause = document.hidden ? Math.max(HIDDEN_PAUSE, usual) : usual;
  } catch (error) {
    pause = Math.max(Math.min(LONGEST_PAUSE, 2 * Math.max(pause, usual)), error.pause || 0);
  }
  clearTimeout(waiting);
  waiting = setTimeout(keepAsking, pause * 1000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("order-changed", () => {
  shownAt = 0;
  keepAsking();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && pause <= HIDDEN_PAUSE) keepAsking();
});
addEventListener("pageshow", (event) => { if (event.persisted) showAgain().then(keepAsking); });

prepare();
waiting = setTimeout(keepAsking, Number(order().dataset.every) * 1000);

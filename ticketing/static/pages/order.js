// Keeps the page of an order current: asks for the order, and shows the page again if it changed.

const LONGEST_PAUSE = 60;
const HIDDEN_PAUSE = 10;
const SENT_PAUSE = 1;
const SENT_FOR = 120_000; // So long after a wallet has sent a payment, the page asks often.
const SHOWN_AGAIN_AFTER = 60_000; // The page knows more than the order: whether the chain is seen.

const link = location.pathname.split("/")[2];
const [id, secret] = link.split(/\.(.*)/s);
const order = () => document.getElementById("order");

let pause = 0;
let waiting;
let sentAt = 0;
let shownAt = Date.now();
let tag; // the ETag of the order as the page shows it
let clockAhead = 0; // of the reader's clock, in milliseconds
let lookedAt = new Date();
let announced; // the last step of the timer that was said

async function ask() {
  const { tenant, marker } = order().dataset;
  const answer = await fetch(`/v1/checkout/tenants/${tenant}/intents/${id}`, {
    headers: { Authorization: `Bearer ${secret}`, ...(tag && { "If-None-Match": tag }) },
    cache: "no-store",
  });
  if (!answer.ok && answer.status !== 304) throw new Refused(answer);
  const isShown = answer.status === 304 || markerOf(await answer.json()) === marker;
  if (isShown) tag = answer.headers.get("ETag");
  const isOld = Date.now() - shownAt > SHOWN_AGAIN_AFTER;
  if (isOld || !isShown) await showAgain();
}

class Refused extends Error {
  constructor(answer) {
    super(answer.status);
    this.pause = Number(answer.headers.get("Retry-After")) || 0;
  }
}

// As OrderView.marker in pages/order_view.py.
function markerOf(it) {
  return [
    it.status, it.amount_received, it.amount_due, it.confirmations,
    it.refund_due, it.refund_pending, it.refunds.length, it.refund_address ?? "",
    it.payee.waiting_address ?? "", it.expires_at,
    it.chain_id ?? "", ...it.strays.map(markerOfStray),
  ].join(" ");
}

// As AccountView.marker in pages/order_accounts.py.
function markerOfStray(it) {
  return [
    it.chain_id, it.amount_received, it.unassigned, it.refund_due, it.refund_pending, it.out_of_reach,
    it.refunds.length, it.refund_address ?? "", it.payee.waiting_address ?? "",
  ].join("/");
}

async function showAgain() {
  if (isTyping()) return;
  const answer = await fetch(`/o/${link}${order().dataset.query}`, { cache: "no-store" });
  if (!answer.ok) throw new Refused(answer);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!page.getElementById("order") || isTyping()) return;
  const focused = document.activeElement?.id;
  const place = scrollY;
  for (const each of order().querySelectorAll("details[id]")) {
    const again = page.getElementById(each.id);
    if (again) again.open = each.open;
  }
  addStyles(page);
  order().replaceWith(page.getElementById("order"));
  document.body.className = page.body.className;
  say(page);
  prepare();
  scrollTo(scrollX, place);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  shownAt = Date.now();
}

// Another state of the order can need another stylesheet.
function addStyles(page) {
  const sheets = (of) => [...of.querySelectorAll("link[rel=stylesheet]")];
  const known = sheets(document).map((each) => each.getAttribute("href"));
  document.head.append(...sheets(page).filter((each) => !known.includes(each.getAttribute("href"))));
}

// The element with the status stays: a screen reader speaks when its text changes.
function say(page) {
  const [status, now] = [document, page].map((each) => each.getElementById("status"));
  document.title = page.title;
  status.className = now.className;
  if (status.textContent !== now.textContent) status.textContent = now.textContent;
}

function timeOf(date, withDay) {
  const day = withDay ? { weekday: "long", day: "numeric", month: "long" } : {};
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }; // as the server writes it
  return date.toLocaleString(document.documentElement.lang, { ...day, ...time });
}

function sayLost(text) {
  const lost = document.getElementById("lost");
  if (lost.textContent !== text) lost.textContent = text;
}

function isTyping() {
  const fields = [...order().querySelectorAll("input:not([type=hidden], [type=radio])")];
  return fields.some((each) => each === document.activeElement || each.value !== each.defaultValue);
}

function isPhone() {
  return matchMedia("(pointer: coarse), (max-width: 40rem)").matches;
}

function prepare() {
  const now = order().dataset.now;
  clockAhead = Date.now() - Date.parse(now);
  for (const each of order().querySelectorAll("[data-copy]")) each.hidden = !navigator.clipboard;
  for (const each of order().querySelectorAll("[data-share]")) each.hidden = !navigator.share;
  for (const each of order().querySelectorAll("time[data-local]")) {
    each.textContent = timeOf(new Date(each.dateTime), "withDay" in each.dataset);
  }
  watchPasses();
  tick();
  document.dispatchEvent(new Event("order-shown"));
}

function tick() {
  const timer = document.getElementById("timer");
  if (!timer) return;
  const now = Date.now() - clockAhead;
  const [began, from, until] = ["began", "from", "until"].map((name) => Date.parse(timer.dataset[name]));
  const bar = document.getElementById("hold-bar");
  bar.hidden = false;
  bar.value = Math.max(0, (until - now) / (until - began));
  timer.hidden = false;
  const left = Math.max(0, Math.ceil((until - now) / 1000));
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const parts = hours ? [hours, String(minutes).padStart(2, "0")] : [minutes];
  const time = [...parts, String(seconds).padStart(2, "0")].join(":");
  const text = left ? timer.dataset.sayLeft.replace("{time}", time) : timer.dataset.sayOver;
  timer.textContent = left ? time : text;
  if (now >= from) announce(left, text);
}

// A screen reader hears it when the timer appears, 5 minutes and 1 minute before the end, and then.
function announce(left, text) {
  const step = [0, 60, 300, Infinity].find((each) => left <= each);
  if (announced === step) return;
  announced = step;
  document.getElementById("timer-said").textContent = text;
}

// No wallet answered the link, because this page is still in front.
function sayNotOpened() {
  const hint = document.getElementById("not-opened");
  if (hint && !document.hidden) hint.textContent = hint.dataset.say;
}

async function copy(button) {
  const label = button.querySelector("[aria-live]");
  const before = label.textContent;
  if (before === button.dataset.sayCopied) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  label.textContent = button.dataset.sayCopied;
  setTimeout(() => { label.textContent = before; }, 2000);
}

function usualPause() {
  const every = Number(order().dataset.every);
  return Date.now() - sentAt < SENT_FOR ? Math.min(every, SENT_PAUSE) : every;
}

async function keepAsking() {
  clearTimeout(waiting);
  const usual = usualPause();
  if (!usual) return;
  try {
    await ask();
    lookedAt = new Date();
    sayLost("");
    pause = document.hidden ? Math.max(HIDDEN_PAUSE, usual) : usual;
  } catch (error) {
    sayLost(document.getElementById("lost").dataset.say.replace("{time}", timeOf(lookedAt)));
    pause = Math.min(LONGEST_PAUSE, 2 * Math.max(pause, usual));
    pause = Math.max(pause, error.pause ?? 0);
  }
  clearTimeout(waiting);
  waiting = setTimeout(keepAsking, pause * 1000);
}

// The dots below the tickets: which one is in view, and a way to each that does not move the page.
function watchPasses() {
  const dots = [...order().querySelectorAll(".dots a")];
  const of = (dot) => document.getElementById(dot.hash.slice(1));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const dot = dots.find((each) => of(each) === target);
      if (isIntersecting) dot.setAttribute("aria-current", "true");
      else dot.removeAttribute("aria-current");
    }
  }, { root: document.getElementById("passes"), threshold: 0.6 });
  for (const dot of dots) seen.observe(of(dot));
}

// Without the browser's own menu, the link to the event's page stays one.
async function share(event, { url, title }) {
  if (!navigator.share) return;
  event.preventDefault();
  await navigator.share({ url, title }).catch(() => {}); // the person closed it
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  const own = event.target.closest("[data-share]");
  if (own) share(event, { url: own.dataset.share, title: document.title });
  const shared = event.target.closest("#share");
  if (shared) share(event, { url: shared.href, title: document.querySelector(".done-what bdi").textContent });
  const dot = event.target.closest(".dots a");
  if (dot) {
    event.preventDefault();
    document.getElementById(dot.hash.slice(1)).scrollIntoView({ inline: "start", block: "nearest" });
  }
  if (event.target.closest("#open-wallet")) setTimeout(sayNotOpened, 2000);
});
document.addEventListener("order-changed", () => {
  shownAt = 0;
  keepAsking();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && pause <= HIDDEN_PAUSE) keepAsking();
});
document.addEventListener("payment-sent", () => {
  sentAt = Date.now();
  keepAsking();
});
// A page from the back button's memory is old.
addEventListener("pageshow", (event) => { if (event.persisted) showAgain().then(keepAsking); });

// Without this script it is open: the page would close it each time that it loads again.
document.getElementById("by-hand")?.removeAttribute("open");
// On a phone, a code on its own screen helps little. On a desk, there is room for what is bought.
if (isPhone()) document.getElementById("code-address")?.removeAttribute("open");
else document.getElementById("summary")?.setAttribute("open", "");
prepare();
setInterval(tick, 1000);
waiting = setTimeout(keepAsking, usualPause() * 1000);

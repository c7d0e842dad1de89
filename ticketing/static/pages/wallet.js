// Pays from a wallet in this browser: EIP-6963 finds it, EIP-1193 asks it, ERC-20 pays. Or it signs
// a transfer (EIP-3009), which the service lets somebody else send: that pays no network fee.

import { codeOf, isUnable, onWallets, reason, soon } from "./browser_wallets.js";

const USABLE_AFTER = 20_000; // Some wallets never answer, as when their window is closed.
const SENT_FOR = 300_000; // After that time, a payment that never came can be sent again.
const RECEIPT_EVERY = 3_000;
const SETTLING_ASKED_EVERY = 15_000; // Only the page says that a signed transfer was not sent.
const SETTLING_AT_LEAST = 5_000; // A page that was asked for before the signature arrived is old.
const TELL_AGAIN_AFTER = [5_000, 20_000, 0]; // Without an answer, who pays is told three times.
const UNKNOWN_IN_A_ROW = 3; // Many nodes answer for one, and some do not know a payment yet.
const HASH = /^0x[0-9a-f]{64}$/i;
const place = `sent ${location.pathname.split("/")[2].split(".")[0]}`; // of what was sent for this order
const box = () => document.getElementById("wallets");

let wallets = new Map();
let chosen; // the id of a wallet
let said; // what a press of a button led to, and for which payment
let turn = 0; // Only the newest press says something.
let open = 0; // how many requests to pay a wallet has not answered
let followed; // the hash whose receipt is asked for
let inMemory = {}; // what was sent, where the browser stores nothing
const unable = new Set(); // the wallets that cannot sign
let signedAt = 0; // when a signature arrived
let settling; // the payment for which a signed transfer was on its way

document.addEventListener("order-shown", show);
setInterval(tell, 1000);
setInterval(() => isSettling() && changed(), SETTLING_ASKED_EVERY);
show();
onWallets((found) => {
  wallets = found;
  show();
});

function show() {
  if (!box()) return;
  // By the reader's clock, however wrong. Not a number while the time does not run.
  box().ends ??= Date.now() + 1000 * Number(box().dataset.left);
  showSettling();
  if (!wallets.size) return;
  if (!wallets.has(chosen)) [chosen] = wallets.keys();
  showChoices();
  showButtons();
  document.getElementById("no-wallet")?.remove();
  for (const other of document.querySelectorAll("#open-wallet, #demo")) other.classList.remove("primary");
  if (box().hidden) chooseBrowser();
  const sent = kept();
  const wallet = [...wallets.values()].find(({ rdns }) => rdns === sent.rdns);
  if (wallet) follow(wallet, sent);
}

// A row for each wallet, if there are several.
function showChoices() {
  const choices = box().querySelector(".wallet-choices");
  choices.hidden = wallets.size < 2;
  const known = [...choices.querySelectorAll("input")].map((each) => each.value);
  if (choices.hidden || known.join() === [...wallets.keys()].join()) return;
  const rows = [...wallets].map(([uuid, wallet]) => {
    const input = Object.assign(document.createElement("input"), {
      type: "radio", name: "wallet", value: uuid, id: `wallet-${uuid}`, checked: uuid === chosen,
    });
    input.addEventListener("change", () => {
      chosen = uuid;
      showButtons();
    });
    const row = element("label", "choice", markOf(wallet), element("bdi", "choice-name", wallet.name));
    row.prepend(input);
    return row;
  });
  choices.replaceChildren(choices.firstElementChild, ...rows);
}

// One filled button pays from the chosen wallet; a second one if that costs no network fee.
function showButtons() {
  const wallet = wallets.get(chosen);
  const { sayPay, sayWith, sayGasless, sayGaslessSecond, sayFee } = box().dataset;
  const isGasless = sayGasless && !unable.has(wallet.provider);
  const named = element("span", "second", sayWith.replace("{wallet}", () => wallet.name));
  if (wallet.icon) named.prepend(markOf(wallet));
  const usual = buttonOf("pay-usual", transfer, element("span", "", isGasless ? sayFee : sayPay), " ", named);
  usual.className = isGasless ? "two-lines plain-button" : "two-lines primary";
  const buttons = [usual];
  if (isGasless) {
    buttons.unshift(buttonOf("pay-gasless", sign, element("span", "", sayGasless), " ", element("span", "second", sayGaslessSecond)));
    buttons[0].className = "two-lines primary";
  }
  box().querySelector(".wallet-buttons").replaceChildren(...buttons);
  const what = document.getElementById("gasless");
  if (what) what.hidden = !isGasless;
  tell();
}

// What a wallet looks like: its own picture, or its first letter.
function markOf({ name, icon }) {
  if (icon) return Object.assign(new Image(), { src: icon, alt: "" });
  const mark = element("span", "mark");
  [mark.dataset.letter] = name;
  return mark;
}

function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

// Says it if a signed transfer is not on its way any more, and the same is still due.
function showSettling() {
  const { dataset } = box();
  if (Date.now() - signedAt < SETTLING_AT_LEAST) dataset.settling = "";
  const was = settling;
  settling = isSettling() ? dataset.request : undefined;
  if (!isSettling() && was === dataset.request) say("NotSent", false);
}

function buttonOf(id, act, ...content) {
  const button = element("button", "", ...content);
  button.type = "button";
  button.id = id;
  button.addEventListener("click", () => pay(wallets.get(chosen), act));
  return button;
}

// Nobody has chosen a way to pay yet, and here is a wallet.
function chooseBrowser() {
  box().hidden = false;
  const phone = document.getElementById("phone");
  if (!phone) return; // A payment link shows all ways at once.
  phone.hidden = true;
  document.getElementById("to-phone").removeAttribute("aria-current");
  document.getElementById("to-browser").setAttribute("aria-current", "true");
}

// Prepares the wallet, and lets `act` ask it to pay. What is thrown as { say } has its words already.
async function pay(wallet, act) {
  if (refusal()) return show();
  const mine = ++turn;
  const { request } = box().dataset;
  // ethereum:<token>@<chain>/transfer?address=<to>&uint256=<amount>
  const [, token, chain, to, amount] = request.match(/:(\w+)@(\d+)\/transfer\?address=0x(\w+)&uint256=(\d+)$/);
  const chainId = `0x${Number(chain).toString(16)}`;
  const ask = async (method, ...params) => wallet.provider.request({ method, params });
  // Whether it shall still be paid so. Not if it was paid meanwhile, or the time is up.
  const isWanted = () => {
    if (mine !== turn) return false; // The person has asked again.
    if (!refusal() && box()?.dataset.request === request) return true;
    said = undefined;
    show();
    return false;
  };
  say("Asked", true);
  const usable = setTimeout(() => mine === turn && say("Slow", false), USABLE_AFTER);
  try {
    const [from] = await ask("eth_requestAccounts");
    if (!from) throw { code: 4001 };
    await use(ask, chainId);
    const lacks = await missing(ask, token, from, BigInt(amount));
    if (lacks) throw { say: "Missing", values: lacks };
    if (isWanted()) await act({ wallet, ask, request, from, token, chain, chainId, to, amount, isWanted, usable });
  } catch (error) {
    if (mine === turn) say(error?.say ?? reason(error), false, error?.values);
  } finally {
    clearTimeout(usable);
  }
}

async function transfer({ wallet, ask, request, from, token, chain, chainId, to, amount }) {
  const data = `0xa9059cbb${word(to)}${word(BigInt(amount).toString(16))}`;
  open += 1;
  const hash = await ask("eth_sendTransaction", { from, to: token, data, value: "0x0", chainId })
    .finally(() => { open -= 1; });
  turn += 1; // Also a late answer counts, so that nothing is paid twice.
  said = undefined;
  if (HASH.test(hash)) tellPayer({ account: from, tx_hash: hash.toLowerCase(), chain_id: Number(chain) });
  keep({ request, hash, chain: Number(chain), rdns: wallet.rdns, at: Date.now() });
  sent();
  show();
}

// Tells the service which account pays, so that a refund goes back to it without asking. It counts
// only for two minutes, so it is not kept. The payment counts without it, too.
async function tellPayer(payer) {
  const [id, secret] = location.pathname.split("/")[2].split(/\.(.*)/s);
  const path = `/v1/checkout/tenants/${document.getElementById("order").dataset.tenant}/intents/${id}/payers`;
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(payer), keepalive: true };
  for (const pause of TELL_AGAIN_AFTER) {
    const answer = await fetch(path, request).catch(() => undefined);
    if (answer && answer.status !== 429 && answer.status < 500) return;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// Lets the page ask quickly for news.
function sent() {
  document.dispatchEvent(new Event("payment-sent"));
}

// A signature that is not sent pays nothing. So a late one is forgotten, and nothing is kept here.
async function sign({ wallet, ask, from, isWanted, usable, ...shown }) {
  try {
    const { send, toSign } = await import("./gasless.js");
    const typed = await toSign(from, shown);
    if (!isWanted()) return;
    say("Sign", true, { time: timeOf(typed.message.validBefore) });
    const signature = await ask("eth_signTypedData_v4", from, JSON.stringify(typed)).catch((error) => {
      if (!isUnable(error)) throw error;
      unable.add(wallet.provider);
      throw { say: "Unable" };
    });
    if (!isWanted()) return;
    clearTimeout(usable);
    say("Sending", true);
    await send(typed.message, signature, () => say("Again", true));
    onItsWay();
  } catch (error) {
    if (error?.say === "Settling") return onItsWay();
    if (error?.say === "NoGasless") delete box()?.dataset.sayGasless;
    if (error?.say === "NoGasless" || error?.say === "Unable") show();
    else if (error?.say) changed();
    throw error;
  }
}

function onItsWay() {
  signedAt = Date.now();
  said = undefined;
  sent();
  show();
  changed();
}

// Lets the page show itself again: only the service knows what became of the order.
function changed() {
  document.dispatchEvent(new Event("order-changed"));
}

function timeOf(seconds) {
  const format = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }; // as the page writes it
  return new Date(1000 * Number(seconds)).toLocaleTimeString(document.documentElement.lang, format);
}

// Changes to the network of the order. A wallet that does not know it is told of a public node.
async function use(ask, chainId) {
  const isThere = async () => Number(await ask("eth_chainId")) === Number(chainId);
  if (await isThere()) return;
  try {
    await ask("wallet_switchEthereumChain", { chainId });
  } catch (error) {
    const { network } = box().dataset;
    if (codeOf(error) !== 4902 || !network) throw error;
    await ask("wallet_addEthereumChain", JSON.parse(network));
    // Some wallets add a network, and stay where they are.
    if (!(await isThere())) await ask("wallet_switchEthereumChain", { chainId });
  }
  if (!(await isThere())) throw { code: 4902 };
}

// What an account has, and what it lacks, as text. Undefined: it has enough, or it is not known.
async function missing(ask, token, from, amount) {
  const data = `0x70a08231${word(from.slice(2))}`;
  const answer = await soon(ask("eth_call", { to: token, data }, "latest"));
  if (!/^0x[0-9a-f]{1,64}$/i.test(answer) || BigInt(answer) >= amount) return undefined;
  return { has: shown(BigInt(answer)), missing: shown(amount - BigInt(answer)) };
}

const word = (hex) => hex.toLowerCase().padStart(64, "0");

// An amount of the token with two decimals or more. 1500000 of a token with 6 is 1.50.
function shown(amount) {
  const decimals = Number(box().dataset.decimals);
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return `${whole}.${digits.slice(whole.length).replace(/0+$/, "").padEnd(2, "0")}`;
}

// Asks the wallet for the receipt, until the page shows that the payment was seen.
async function follow(wallet, { hash, chain, at }) {
  if (followed === hash || !HASH.test(hash)) return;
  followed = hash;
  const ask = (method, ...params) => soon(wallet.provider.request({ method, params }));
  const isKept = () => kept().hash === hash;
  let unknown = 0;
  while (box() && isKept()) {
    await new Promise((resolve) => setTimeout(resolve, RECEIPT_EVERY));
    if (Number(await ask("eth_chainId")) !== chain) continue;
    const receipt = await ask("eth_getTransactionReceipt", hash);
    const isLate = !receipt && Date.now() - at > USABLE_AFTER;
    // Null: its node does not know the payment. Undefined: the wallet does not say.
    unknown = isLate && (await ask("eth_getTransactionByHash", hash)) === null ? unknown + 1 : 0;
    if (!isKept()) break;
    if (receipt && Number(receipt.status) === 0) {
      keep({});
      say("Reverted", false);
    } else if (receipt || unknown >= UNKNOWN_IN_A_ROW) {
      keep({ ...kept(), isMined: Boolean(receipt) }); // A lost one that comes later still counts.
      tell();
    }
  }
  if (followed === hash) followed = undefined;
}

function say(what, isBusy, values = {}) {
  said = { what, isBusy, text: textOf(what, values), request: box()?.dataset.request };
  tell();
}

// Says what counts most: why nobody may pay, else what the last press led to.
function tell() {
  if (!box()) return;
  const [no, sent] = [refusal(), stateOfSent()];
  const last = said?.request === box().dataset.request ? said : { what: sent };
  let { what, isBusy, text } = no ? { what: no, isBusy: true } : last;
  if (open && (!what || what === "Slow")) [what, text] = ["Open"];
  text ??= textOf(what);
  const line = box().querySelector(".said");
  if (line.textContent !== text) line.textContent = text;
  for (const each of box().querySelectorAll("button")) each.disabled = isBusy;
}

// What the page has for a word. A later page may not have it any more.
function textOf(what, values) {
  const text = what && box()?.dataset[`say${what}`];
  return text ? text.replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all) : "";
}

// Why nobody may pay now. Undefined: they may.
function refusal() {
  if (stateOfSent() === "Sent") return "Sent";
  if (isSettling()) return "Settling";
  return Date.now() > box()?.ends ? "Over" : undefined;
}

// Whether a signed transfer is on its way. It must not be paid in another way.
function isSettling() {
  return "settling" in (box()?.dataset ?? {});
}

// "Sent" is not seen yet, and must not be paid twice. "Dropped" can be sent again.
function stateOfSent() {
  const { request, at, isMined } = kept(); // isMined false: its network does not know it
  const isDue = request === box()?.dataset.request;
  const isNew = isMined !== false && Date.now() - at < SENT_FOR;
  if (isNew || (isMined && isDue)) return "Sent";
  return isDue ? "Dropped" : undefined;
}

// In all tabs, and after a reload.
function keep(sent) {
  inMemory = sent;
  try {
    localStorage.setItem(place, JSON.stringify(sent));
  } catch {
    // This browser stores nothing: then this page remembers it.
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(place)) ?? inMemory;
  } catch {
    return inMemory;
  }
}

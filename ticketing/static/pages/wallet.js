// Pays from a wallet in this browser: EIP-6963 finds it, EIP-1193 asks it, ERC-20 pays.

import { codeOf, onWallets, reason, soon } from "./browser_wallets.js";

const USABLE_AFTER = 20_000; // Some wallets never answer, as when their window is closed.
const SENT_FOR = 300_000; // After that time, a payment that never came can be sent again.
const RECEIPT_EVERY = 3_000;
const UNKNOWN_IN_A_ROW = 3; // Many nodes answer for one, and some do not know a payment yet.
const place = `sent ${location.pathname.split("/")[2].split(".")[0]}`; // of what was sent for this order
const box = () => document.getElementById("wallets");

let wallets = new Map();
let said; // what a press of a button led to, and for which payment
let turn = 0; // Only the newest press says something.
let open = 0; // how many requests to pay a wallet has not answered
let followed; // the hash whose receipt is asked for
let inMemory = {}; // what was sent, where the browser stores nothing

document.addEventListener("order-shown", show);
setInterval(tell, 1000);
show();
onWallets((found) => {
  wallets = found;
  show();
});

function show() {
  if (!box()) return;
  // By the reader's clock, however wrong. Not a number while the time does not run.
  box().ends ??= Date.now() + 1000 * Number(box().dataset.left);
  if (!wallets.size) return;
  const buttons = [...wallets].map(([uuid, wallet], number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `wallet-${uuid}`;
    button.className = number ? "" : "primary";
    if (wallet.icon) button.append(Object.assign(new Image(), { src: wallet.icon, alt: "" }));
    button.append(box().dataset.sayLabel.replace("{wallet}", () => wallet.name));
    button.addEventListener("click", () => pay(wallet));
    return button;
  });
  box().querySelector(".wallet-buttons").replaceChildren(...buttons);
  document.getElementById("no-wallet")?.remove();
  for (const other of document.querySelectorAll("#open-wallet, #demo")) other.classList.remove("primary");
  if (box().hidden) chooseBrowser();
  tell();
  const sent = kept();
  const wallet = [...wallets.values()].find(({ rdns }) => rdns === sent.rdns);
  if (wallet) follow(wallet, sent);
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

async function pay(wallet) {
  if (refusal()) return show();
  const mine = ++turn;
  const { request } = box().dataset;
  // ethereum:<token>@<chain>/transfer?address=<to>&uint256=<amount>
  const [, token, chain, to, amount] = request.match(/:(\w+)@(\d+)\/transfer\?address=0x(\w+)&uint256=(\d+)$/);
  const chainId = `0x${Number(chain).toString(16)}`;
  const ask = async (method, ...params) => wallet.provider.request({ method, params });
  say("Asked", true);
  const usable = setTimeout(() => mine === turn && say("Slow", false), USABLE_AFTER);
  try {
    const [from] = await ask("eth_requestAccounts");
    if (!from) throw { code: 4001 };
    await use(ask, chainId);
    const lacks = await missing(ask, token, from, BigInt(amount));
    if (lacks) throw { lacks };
    if (mine !== turn) return; // The person has asked again.
    if (refusal() || box()?.dataset.request !== request) { // It was paid meanwhile, or the time is up.
      said = undefined;
      return show();
    }
    const data = `0xa9059cbb${word(to)}${word(BigInt(amount).toString(16))}`;
    open += 1;
    const hash = await ask("eth_sendTransaction", { from, to: token, data, value: "0x0", chainId })
      .finally(() => { open -= 1; });
    turn += 1; // Also a late answer counts, so that nothing is paid twice.
    said = undefined;
    keep({ request, hash, chain: Number(chain), rdns: wallet.rdns, at: Date.now() });
    document.dispatchEvent(new Event("payment-sent"));
    show();
  } catch (error) {
    if (mine !== turn) return;
    if (error?.lacks) say("Missing", false, error.lacks);
    else say(reason(error), false);
  } finally {
    clearTimeout(usable);
  }
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
  if (followed === hash || !/^0x[0-9a-f]{64}$/i.test(hash)) return;
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
  said = { what, isBusy, values, request: box()?.dataset.request };
  tell();
}

// Says what counts most: why nobody may pay, else what the last press led to.
function tell() {
  if (!box()) return;
  const [no, sent] = [refusal(), stateOfSent()];
  const last = said?.request === box().dataset.request ? said : { what: sent };
  let { what, isBusy, values } = no ? { what: no, isBusy: true } : last;
  if (open && (!what || what === "Slow")) what = "Open";
  const text = what ? box().dataset[`say${what}`].replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all) : "";
  const line = box().querySelector(".said");
  if (line.textContent !== text) line.textContent = text;
  for (const each of box().querySelectorAll("button")) each.disabled = isBusy;
}

// Why nobody may pay now. Undefined: they may.
function refusal() {
  if (stateOfSent() === "Sent") return "Sent";
  return Date.now() > box()?.ends ? "Over" : undefined;
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

// Pays from a wallet in this browser: EIP-6963 finds it, EIP-1193 asks it, ERC-20 pays.

import { codeOf, onWallets, reason, soon } from "./browser_wallets.js";

const USABLE_AFTER = 20_000; // Some wallets never answer, as when their window is closed.
const SENT_FOR = 300_000; // After that time, a payment that never came can be sent again.
const RECEIPT_EVERY = 3_000;
const order = location.pathname.split("/")[2].split(".")[0];
const box = () => document.getElementById("wallets");

let wallets = new Map();
let said; // what the page says of the payment, and for which state of the order
let turn = 0; // Only the newest press says something.
let followed; // the hash whose receipt is asked for
let inMemory; // what was sent, where the browser stores nothing

document.addEventListener("order-shown", show);
onWallets((found) => {
  wallets = found;
  show();
});

function show() {
  if (!box() || !wallets.size) return;
  const buttons = [...wallets].map(([uuid, wallet], place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `wallet-${uuid}`;
    button.className = place ? "" : "primary";
    if (wallet.icon) button.append(Object.assign(new Image(), { src: wallet.icon, alt: "" }));
    button.append(box().dataset.sayLabel.replace("{wallet}", () => wallet.name));
    button.addEventListener("click", () => pay(wallet));
    return button;
  });
  box().querySelector(".wallet-buttons").replaceChildren(...buttons);
  document.getElementById("no-wallet")?.remove();
  for (const other of document.querySelectorAll("#open-wallet, #demo")) other.classList.remove("primary");
  if (box().hidden) chooseBrowser();
  const sent = lastSent();
  if (sent) {
    say("Sent", true);
    const wallet = [...wallets.values()].find(({ rdns }) => rdns === sent.rdns);
    if (wallet) follow(wallet, sent);
  } else if (said?.marker === box().dataset.marker) {
    if (said.what === "Sent") say("Dropped", false); // so long ago that it can be sent again
    else say(said.what, said.isBusy, said.values);
  }
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
  if (lastSent()) return say("Sent", true); // in another tab
  const mine = ++turn;
  const { request, marker } = box().dataset;
  // ethereum:<token>@<chain>/transfer?address=<to>&uint256=<amount>
  const [, token, chain, to, amount] = request.match(/:(\w+)@(\d+)\/transfer\?address=0x(\w+)&uint256=(\d+)$/);
  const chainId = `0x${Number(chain).toString(16)}`;
  const ask = (method, ...params) => wallet.provider.request({ method, params });
  say("Asked", true);
  const usable = setTimeout(() => mine === turn && say("Slow", false), USABLE_AFTER);
  try {
    const [from] = await ask("eth_requestAccounts");
    if (!from) throw { code: 4001 };
    await use(ask, chainId);
    const lacks = await missing(ask, token, from, BigInt(amount));
    if (lacks) throw { lacks };
    if (mine !== turn || lastSent()) return; // The person has asked again, here or in another tab.
    const data = `0xa9059cbb${word(to)}${word(BigInt(amount).toString(16))}`;
    const hash = await ask("eth_sendTransaction", { from, to: token, data, value: "0x0", chainId });
    turn += 1; // Also a late answer counts, so that nothing is paid twice.
    const sent = { order, marker, hash, chain: Number(chain), rdns: wallet.rdns, at: Date.now() };
    keep(sent);
    say("Sent", true);
    follow(wallet, sent);
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
async function follow(wallet, { hash, chain, marker, at }) {
  if (followed === hash || !/^0x[0-9a-f]{64}$/i.test(hash)) return;
  followed = hash;
  const ask = (method, ...params) => soon(wallet.provider.request({ method, params }));
  while (box()?.dataset.marker === marker && lastSent()?.hash === hash) {
    await new Promise((resolve) => setTimeout(resolve, RECEIPT_EVERY));
    if (Number(await ask("eth_chainId")) !== chain) continue;
    const receipt = await ask("eth_getTransactionReceipt", hash);
    if (receipt && Number(receipt.status) === 0) return giveUp("Reverted");
    if (receipt || Date.now() - at < USABLE_AFTER) continue;
    // Null: its node does not know the payment. Undefined: the wallet does not say.
    if ((await ask("eth_getTransactionByHash", hash)) === null) return giveUp("Dropped");
  }
  if (box() && !lastSent()) say("Dropped", false);
}

function giveUp(why) {
  followed = undefined;
  keep({});
  say(why, false);
}

function say(what, isBusy, values = {}) {
  if (!box()) return;
  said = { what, isBusy, values, marker: box().dataset.marker };
  const text = box().dataset[`say${what}`].replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  const line = box().querySelector(".said");
  if (line.textContent !== text) line.textContent = text;
  for (const each of box().querySelectorAll("button")) each.disabled = isBusy;
}

// What was sent and is not seen yet must not be paid twice, after a reload neither.
function keep(sent) {
  inMemory = sent;
  try {
    localStorage.setItem("sent", JSON.stringify(sent));
  } catch {
    // This browser stores nothing: then this page remembers it.
  }
}

function lastSent() {
  let sent = inMemory;
  try {
    sent = JSON.parse(localStorage.getItem("sent")) ?? inMemory;
  } catch {
    // As in `keep`.
  }
  const isThis = sent?.order === order && sent.marker === box()?.dataset.marker;
  return isThis && Date.now() - sent.at < SENT_FOR ? sent : undefined;
}

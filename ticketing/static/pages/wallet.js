// Pays from a wallet in this browser: EIP-6963 finds it, EIP-1193 asks it, ERC-20 pays.

import { onWallets, reason } from "./browser_wallets.js";

const SENT_FOR = 300_000; // After that time, a payment that never came can be sent again.
const order = location.pathname.split("/")[2].split(".")[0];
const box = () => document.getElementById("wallets");

let wallets = new Map();
let said; // what the page says of the payment, and for which state of the order

document.addEventListener("order-shown", show);
onWallets((found) => {
  wallets = found;
  show();
});

function show() {
  if (!box() || !wallets.size) return;
  const buttons = [...wallets].map(([uuid, { name, provider }], place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `wallet-${uuid}`;
    button.className = place ? "" : "primary";
    button.textContent = box().dataset.sayLabel.replace("{wallet}", () => name);
    button.addEventListener("click", () => pay(provider));
    return button;
  });
  box().firstElementChild.replaceChildren(...buttons);
  box().hidden = false;
  for (const other of document.querySelectorAll("#open-wallet, #demo")) other.classList.remove("primary");
  if (wasSent()) say("Sent", true);
  else if (said?.marker === box().dataset.marker) say(said.what, said.isBusy);
}

async function pay(provider) {
  if (wasSent()) return say("Sent", true); // in another tab
  const { request, marker } = box().dataset;
  // ethereum:<token>@<chain>/transfer?address=<to>&uint256=<amount>
  const [, token, chain, to, amount] = request.match(/:(\w+)@(\d+)\/transfer\?address=0x(\w+)&uint256=(\d+)$/);
  const chainId = `0x${Number(chain).toString(16)}`;
  const ask = (method, ...params) => provider.request({ method, params });
  say("Asked", true);
  try {
    const [from] = await ask("eth_requestAccounts");
    if (Number(await ask("eth_chainId")) !== Number(chain)) {
      await ask("wallet_switchEthereumChain", { chainId });
      if (Number(await ask("eth_chainId")) !== Number(chain)) throw { code: 4902 };
    }
    const data = `0xa9059cbb${to.toLowerCase().padStart(64, "0")}${BigInt(amount).toString(16).padStart(64, "0")}`;
    await ask("eth_sendTransaction", { from, to: token, data, value: "0x0", chainId });
  } catch (error) {
    return say(reason(error), false);
  }
  say("Sent", true);
  localStorage.setItem("sent", JSON.stringify({ order, marker, at: Date.now() }));
}

function say(what, isBusy) {
  if (!box()) return;
  said = { what, isBusy, marker: box().dataset.marker };
  box().lastElementChild.textContent = box().dataset[`say${what}`];
  for (const each of box().querySelectorAll("button")) each.disabled = isBusy;
}

// What was sent and is not seen yet must not be paid twice, after a reload neither.
function wasSent() {
  const sent = JSON.parse(localStorage.getItem("sent") ?? "{}");
  return sent.order === order && sent.marker === box().dataset.marker && Date.now() - sent.at < SENT_FOR;
}

// Fills in the address of a wallet in this browser (EIP-6963), and lets people compare it here.
// The server checks the address. Without this script, the next page asks to compare it.

import { onWallets, reason } from "./browser_wallets.js";

const ADDRESS = /^0x[0-9a-f]{40}$/i; // Nothing else is sent before the form is: it may be a secret.
const box = document.getElementById("own-wallet");
const field = document.getElementById("address");
const compared = document.getElementById("compared");
const networks = [...document.querySelectorAll("#enabled-networks input")];

let turn = 0; // An answer of an earlier turn comes too late: the field has something else by now.

field.addEventListener("input", change);
if (field.value !== compared.dataset.now) compare();
onWallets((found) => {
  const { sayOne, sayEach } = box.dataset;
  const buttons = [...found.values()].map(({ name, provider }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = found.size === 1 ? sayOne : sayEach.replace("{wallet}", () => name);
    button.addEventListener("click", () => fill(provider));
    return button;
  });
  box.querySelector(".wallet-buttons").replaceChildren(...buttons);
  box.hidden = false;
  mark();
});

async function fill(provider) {
  const mine = ++turn;
  say("Asked");
  let account, chain;
  try {
    [account] = await provider.request({ method: "eth_requestAccounts" });
    chain = await provider.request({ method: "eth_chainId" });
  } catch (error) {
    return mine === turn && say(reason(error ?? {}) === "Rejected" ? "Rejected" : "Failed");
  }
  if (mine !== turn) return;
  if (!ADDRESS.test(account)) return say("Failed");
  field.value = account;
  const current = networks.find((each) => Number(each.value) === Number(chain));
  if (current && !networks.some((each) => each.checked)) current.checked = true;
  change();
}

// What was said about the contract at another address does not count for this one.
function change() {
  document.getElementById("own-contract")?.remove();
  compare();
}

async function compare() {
  const mine = ++turn;
  const address = field.value.trim();
  say();
  mark();
  compared.replaceChildren();
  if (!ADDRESS.test(address)) return;
  const body = new URLSearchParams({ address, csrf_token: field.form.elements.csrf_token.value });
  const answer = await fetch(compared.dataset.path, { method: "POST", body, redirect: "error" }).catch(() => null);
  const shown = answer?.ok ? await answer.text() : "";
  if (mine !== turn) return;
  compared.innerHTML = shown;
  // It pushes down what has the focus.
  document.querySelector("#own-contract :focus")?.scrollIntoView({ block: "center" });
}

// The first button is the main one, until an address is there.
function mark() {
  box.querySelector("button")?.classList.toggle("primary", !ADDRESS.test(field.value.trim()));
}

function say(what) {
  box.querySelector("[role=status]").textContent = what ? box.dataset[`say${what}`] : "";
}

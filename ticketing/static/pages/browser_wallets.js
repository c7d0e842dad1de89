// Finds the wallets of this browser (EIP-6963), and says in one word why one refused (EIP-1193).

const found = new Map(); // by id: { name, provider }
const listeners = [];

addEventListener("eip6963:announceProvider", ({ detail: { info, provider } }) => {
  found.set(info.uuid, { name: info.name, provider });
  for (const listener of listeners) listener(found);
});

// Calls `listener` with all wallets, by id, each time that one is found.
export function onWallets(listener) {
  listeners.push(listener);
  dispatchEvent(new Event("eip6963:requestProvider"));
}

export function reason({ code, message }) {
  if (code === 4001) return "Rejected";
  if (code === 4902 || code === 4901) return "Network";
  return /insufficient|exceeds.*balance/i.test(message) ? "Funds" : "Failed";
}

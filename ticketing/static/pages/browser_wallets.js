// Finds the wallets of this browser (EIP-6963), and says in one word why one refused (EIP-1193).

const ANSWER_MS = 3_000;
const found = new Map(); // by id: { name, rdns, icon, provider }
const listeners = [];

addEventListener("eip6963:announceProvider", ({ detail: { info, provider } }) => {
  const icon = /^data:image\//.test(info.icon) ? info.icon : undefined;
  found.set(info.uuid, { name: info.name, rdns: info.rdns, icon, provider });
  for (const listener of listeners) listener(found);
});

// Calls `listener` with all wallets, by id, each time that one is found.
export function onWallets(listener) {
  listeners.push(listener);
  dispatchEvent(new Event("eip6963:requestProvider"));
}

// What is answered soon. Undefined: nothing was, or it failed. Some wallets never answer.
export const soon = (answer) =>
  Promise.race([answer, new Promise((resolve) => setTimeout(resolve, ANSWER_MS))]).catch(() => undefined);

const TELLING = [4001, -32002, 4902, 4901];
const layersOf = (error) => [error?.data?.originalError, error?.data, error].filter(Boolean);

// The code of an error that tells most. Some wallets hide it in another one: -32603 around 4902.
export function codeOf(error) {
  const codes = layersOf(error).map(({ code }) => code);
  return TELLING.find((each) => codes.includes(each)) ?? codes.find((each) => each !== undefined);
}

const UNABLE = [-32601, -32004, 4200, 4100];

// Whether a wallet does not have a method, or does not let pages use it. A person did not say no.
export function isUnable(error) {
  return codeOf(error) !== 4001 && layersOf(error).some(({ code }) => UNABLE.includes(code));
}

export function reason(error) {
  const code = codeOf(error);
  const message = layersOf(error).map((each) => each.message).join(" ");
  if (code === 4001 || /user (rejected|denied)/i.test(message)) return "Rejected";
  if (code === -32002) return "Pending";
  if (code === 4902 || code === 4901) return "Network";
  return /insufficient|exceeds.*balance/i.test(message) ? "Funds" : "Failed";
}

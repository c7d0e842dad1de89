"""A wallet that a browser announces (EIP-6963), in front of real nodes. It signs all it is asked.

    wallet = InjectedWallet([account], {CHAIN: node}, atomic="supported")
    page = visit(stack.url, script=wallet.script)
    wallet.connect(page)

In a page, `wallet` (the first one) says how it misbehaves: `rejects` and `hangs` have methods,
`drops` numbers of transactions that it answers and never sends, `lies` what it answers to a method
without its node, `switches` what changes after a method was asked. `stays`: it adds a network, and
does not change to it. `signer`: it signs with this account, whatever `from` says. `replaces`: the
hash that it answers is not that of the transaction. `denies`: it sends, and says that it was
rejected. `silent`: what it says about batches has no logs. `rewrites`: functions by method, of the
node's answer and the parameters. `delay`: of each answer, in milliseconds.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.sync_api import Page

from tests.support.remote import eventually
from tools import anvil

REJECTED = {"code": 4001, "message": "User rejected the request."}
NO_METHOD = {"code": -32601, "message": "The method does not exist."}
UNKNOWN_CHAIN = {"code": 4902, "message": "Unrecognized chain."}
NO_BATCH = {"code": 5750, "message": "EIP-7702 is off for this account."}

_SCRIPT = """
const stored = location.protocol === "http:" && HAS_STORAGE ? localStorage : {};
const wallet = {
  accounts: ACCOUNTS, chain: Number(stored.chosen_chain ?? 1), known: CHAINS, atomic: ATOMIC,
  asked: [], rejects: {}, hangs: [], drops: [], lies: {}, switches: {}, sent: 0, waiting: [],
  stays: false, rewrites: {}, delay: 0, signer: null, replaces: false, denies: false, silent: false,
};
globalThis.wallet ??= wallet;
const answers = {
  eth_requestAccounts: () => wallet.accounts.slice(0, 1),
  eth_accounts: () => wallet.accounts.slice(0, 1),
  eth_chainId: () => `0x${wallet.chain.toString(16)}`,
  wallet_switchEthereumChain: ([{ chainId }]) => {
    if (!wallet.known.includes(Number(chainId))) throw UNKNOWN_CHAIN;
    wallet.chain = stored.chosen_chain = Number(chainId);
    return null;
  },
  wallet_addEthereumChain: ([{ chainId }]) => {
    wallet.known.push(Number(chainId));
    if (!wallet.stays) wallet.chain = stored.chosen_chain = Number(chainId);
    return null;
  },
  wallet_getCapabilities: ([, [chain]]) => {
    if (!wallet.atomic) throw NO_METHOD;
    return { [chain]: { atomic: { status: wallet.atomic } } };
  },
  wallet_sendCalls: ([all]) => {
    if (!all.atomicRequired || all.version !== "2.0.0") throw { code: -32602, message: "bad" };
    return ask_UUID(Number(all.chainId), "batch", [all]);
  },
  wallet_getCallsStatus: ([id]) => ask_UUID(wallet.chain, "status", [id]),
};
async function request({ method, params }) {
  wallet.asked.push({ method, params: structuredClone(params ?? []) });
  if (wallet.hangs.includes(method)) await new Promise((go) => wallet.waiting.push(go));
  if (method in wallet.rejects) throw wallet.rejects[method];
  if (method in wallet.lies) return wallet.lies[method];
  const drops = method === "eth_sendTransaction" && wallet.drops.includes(++wallet.sent);
  const own = answers[method] ?? ((all) => ask_UUID(wallet.chain, drops ? "drop" : method, all));
  const signs = ["eth_sendTransaction", "wallet_sendCalls"].includes(method);
  const all = signs && wallet.signer ? [{ ...params[0], from: wallet.signer }] : params;
  const answer = await own(all ?? []);
  if (wallet.delay) await new Promise((go) => setTimeout(go, wallet.delay));
  if (method in wallet.rewrites) return wallet.rewrites[method](answer, params);
  if (signs && wallet.denies) throw REJECTED;
  if (signs && wallet.replaces) return `0x${"ab".repeat(32)}`;
  if (method === "wallet_getCallsStatus" && wallet.silent) {
    for (const each of answer.receipts ?? []) each.logs = [];
  }
  Object.assign(wallet, wallet.switches[method] ?? {});
  delete wallet.switches[method];
  return answer;
}
const info = { uuid: "UUID", name: "NAME", rdns: "org.stub", icon: "ICON" };
const detail = Object.freeze({ info, provider: { request } });
addEventListener("eip6963:requestProvider", () => dispatchEvent(
  new CustomEvent("eip6963:announceProvider", { detail })));
"""


_NO_STORAGE = """
Object.defineProperty(globalThis, "localStorage", {
  get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
});
"""


class InjectedWallet:
    """A wallet with unlocked accounts of nodes, by their chain ids.

    `atomic`: its capability for several calls at once (EIP-5792). None: it has never heard of it.
    Its batches are transactions one after another, all of which are undone if one fails.
    `has_storage` False: the browser forbids pages to store anything.
    """

    def __init__(
        self,
        accounts: Sequence[str],
        nodes: Mapping[int, anvil.Anvil],
        *,
        atomic: str | None = None,
        name: str = "Stub",
        icon: str = "data:,",
        has_storage: bool = True,
    ) -> None:
        self._nodes = nodes
        self._batches: dict[str, list[Any]] = {}
        self._uuid = secrets.token_hex(8)
        values = {
            "ACCOUNTS": json.dumps(list(accounts)),
            "CHAINS": json.dumps(list(nodes)),
            "ATOMIC": json.dumps(atomic),
            "NO_METHOD": json.dumps(NO_METHOD),
            "REJECTED": json.dumps(REJECTED),
            "UNKNOWN_CHAIN": json.dumps(UNKNOWN_CHAIN),
            "UUID": self._uuid,
            "NAME": name,
            "ICON": icon,
            "HAS_STORAGE": json.dumps(has_storage),
        }
        script = _SCRIPT
        for key, value in values.items():
            script = script.replace(key, value)
        self.script = script if has_storage else _NO_STORAGE + script

    def connect(self, page: Page) -> None:
        """Let all tabs of this page's browser use the nodes. Call it before the first page."""
        page.context.expose_function(f"ask_{self._uuid}", self._ask)

    def _ask(self, chain_id: int, method: str, params: list[Any]) -> Any:
        rpc = self._nodes[chain_id].rpc
        if method == "batch":
            return self._batch(rpc, params[0])
        if method == "status":
            receipts = self._batches.get(params[0])
            return {"status": 100} if receipts is None else {"status": 200, "receipts": receipts}
        if method == "drop":
            return "0x" + secrets.token_hex(32)
        return rpc(method, *params)

    def _batch(self, rpc: anvil.Rpc, asked: Any) -> Any:
        snapshot = rpc("evm_snapshot")
        receipts = []
        for call in asked["calls"]:
            sent = {"from": asked["from"], "to": call["to"], "data": call["data"]}
            try:
                receipts.append(anvil.mined(rpc, rpc("eth_sendTransaction", sent)))
            except RuntimeError:
                rpc("evm_revert", snapshot)
                raise
        batch = "0x" + secrets.token_hex(16)
        self._batches[batch] = receipts
        return {"id": batch}


def asked(page: Page, method: str) -> list[Any]:
    """Return the parameters of each call of a method since this page was opened."""
    found = page.evaluate("wallet.asked")
    return [each["params"] for each in found if each["method"] == method]


def until_asked(page: Page, method: str, times: int = 1) -> None:
    """Wait until the wallet was asked so often. AssertionError."""
    eventually(lambda: len(asked(page, method)) >= times)

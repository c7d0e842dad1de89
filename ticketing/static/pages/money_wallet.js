// One wallet of this browser, asked by EIP-1193 and, for several calls at once, by EIP-5792.

import { codeOf, reason, soon } from "./browser_wallets.js";
import { allowanceOf, approve, eventsOf, FACTORY, MULTICALL, refundedAll, refundedOf, refundedOfAll } from "./money_calls.js";

// Unknown method, and the codes with which wallets refuse to sign several calls at once.
const NO_BATCH = [-32601, -32602, 4200, 5700, 5710, 5740, 5750, 5760];
const CONFIRMED = 200, FAILED = 400;
const hex = (number) => `0x${BigInt(number).toString(16)}`;

export class Wallet {
  constructor({ name, provider }) {
    this.name = name;
    this.provider = provider;
  }

  ask(method, ...params) {
    return this.provider.request({ method, params });
  }

  // Changes to a network, and reads the account.
  async use(chain) {
    [this.account] = (await this.#told("eth_requestAccounts")).map((each) => each.toLowerCase());
    if (!this.account) throw { say: "Rejected" };
    if (await this.isOn(chain)) return;
    await this.#told("wallet_switchEthereumChain", { chainId: hex(chain) });
    if (!(await this.isOn(chain))) throw { say: "Network" };
  }

  async isOn(chain) {
    return Number(await this.ask("eth_chainId")) === chain;
  }

  // Just before a signature: still the same account and network.
  async check(chain) {
    const [account] = await this.ask("eth_accounts");
    if (account?.toLowerCase() !== this.account || !(await this.isOn(chain))) throw { say: "Switched" };
  }

  // The newest block: its time in seconds, and its number. If the wallet does not say it: the clock's
  // time, and 0.
  async head() {
    const found = await soon(this.ask("eth_getBlockByNumber", "latest", false));
    const time = Number(found?.timestamp);
    return { time: Number.isFinite(time) ? time : Date.now() / 1000, number: Number(found?.number) || 0 };
  }

  async hasFactory() {
    return (await this.ask("eth_getCode", FACTORY, "latest")) !== "0x";
  }

  async allowance(token) {
    return BigInt(await this.ask("eth_call", { to: token, data: allowanceOf(this.account) }, "latest"));
  }

  // All accounts that this page may ask.
  async accounts() {
    const found = (await soon(this.ask("eth_accounts"))) ?? [];
    return [...new Set([this.account, ...found.map((each) => each.toLowerCase())])].filter(Boolean);
  }

  // The events with some ids since a block, whoever paid. Undefined: the node does not say.
  async events(ids, since) {
    return soon(this.ask("eth_getLogs", eventsOf(ids, since)));
  }

  // Whether an account has used an id. Undefined: the node does not say.
  async hasUsed(pair) {
    const found = await soon(this.ask("eth_call", { to: FACTORY, data: refundedOf(pair) }, "latest"));
    if (found === "0x") return false; // the factory is not there yet
    return /^0x0{63}[01]$/.test(found) ? found.endsWith("1") : undefined;
  }

  // The same of many ids in one call. Undefined if the node cannot do that.
  async haveUsed(pairs) {
    const data = refundedOfAll(pairs);
    return refundedAll(await soon(this.ask("eth_call", { to: MULTICALL, data }, "latest")), pairs.length);
  }

  // The calls that allow what a call allows. Some tokens change an allowance from 0 only.
  async allowing(call) {
    const now = await this.allowance(call.to);
    if (now >= call.amount) return [];
    if (now === 0n) return [call];
    const { to, data } = call;
    const isChanged = await this.ask("eth_estimateGas", { from: this.account, to, data }).then(() => true, () => false);
    return isChanged ? [call] : [approve(to, 0n), call];
  }

  // Whether all calls can be one signature. The wallet may still refuse.
  async isAtomic(chain) {
    try {
      const all = await this.ask("wallet_getCapabilities", this.account, [hex(chain)]);
      const own = Object.entries(all).find(([id]) => Number(id) === chain)?.[1];
      return ["supported", "ready"].includes(own?.atomic?.status);
    } catch {
      return false;
    }
  }

  send(chain, { to, data }) {
    return this.#told("eth_sendTransaction", { from: this.account, to, data, value: "0x0", chainId: hex(chain) });
  }

  // Returns the id of the calls. Throws { isSingle: true } if the wallet signs one at a time only.
  async sendAll(chain, calls) {
    const sent = calls.map(({ to, data }) => ({ to, data, value: "0x0" }));
    const all = { version: "2.0.0", chainId: hex(chain), from: this.account, atomicRequired: true, calls: sent };
    return (await this.#told("wallet_sendCalls", all)).id;
  }

  // Returns what is known of something that was signed: its `logs`, and whether they are all that it
  // did. Null: it is not there, or the wallet is elsewhere. What a wallet says about a batch may leave
  // out logs, so the receipts are asked for by their hashes.
  async outcome(chain, { id, isBatch }) {
    try {
      if (!isBatch) {
        if (!(await this.isOn(chain))) return null;
        const receipt = await this.receipt(id);
        return receipt ? { logs: receipt.logs, isWhole: true } : null;
      }
      const { status, receipts: listed } = await this.ask("wallet_getCallsStatus", id);
      const receipts = listed ?? [];
      if (!(status >= FAILED || (status >= CONFIRMED && receipts.length))) return null;
      const byHash = await Promise.all(receipts.map(({ transactionHash }) => soon(this.receipt(transactionHash))));
      const logs = receipts.flatMap((each, at) => byHash[at]?.logs ?? each.logs ?? []);
      return { logs, isWhole: byHash.every(Boolean) };
    } catch {
      return null;
    }
  }

  receipt(hash) {
    return this.ask("eth_getTransactionReceipt", hash);
  }

  async #told(method, ...params) {
    try {
      return await this.ask(method, ...params);
    } catch (error) {
      throw { say: reason(error), isSingle: method === "wallet_sendCalls" && NO_BATCH.includes(codeOf(error)) };
    }
  }
}

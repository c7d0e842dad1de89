// What was signed and is not seen yet, for reloads and other tabs. One tab at a time signs, and
// decides what became of it.

export class Signed {
  kept = new Map(); // by key, where a browser stores nothing

  constructor(tenant, kind) {
    this.key = (chain) => `signed ${tenant} ${kind} ${chain}`;
    this.askedKey = (chain) => `asked ${tenant} ${kind} ${chain}`;
    this.lock = `money ${tenant}`;
  }

  // An entry: the `calls`, and what was `sent` for them, [{ id, isBatch, account }].
  read(chain) {
    return this.#read(this.key(chain));
  }

  // Kept before a wallet is asked: from this block on it may have sent something, whatever it answers.
  ask(chain, { block, account, payments, until }) {
    if (!payments.length) return;
    const before = this.asked(chain);
    const known = before?.payments.filter(({ id }) => !payments.some((each) => each.id === id)) ?? [];
    this.#write(this.askedKey(chain), {
      block: before?.block ?? block,
      accounts: [...new Set([...(before?.accounts ?? []), account])],
      payments: [...known, ...payments.map((each) => ({ ...each, until }))],
    });
  }

  // What was asked for, was not seen, and can still be paid. Null: nothing.
  asked(chain) {
    const found = this.#read(this.askedKey(chain));
    const payments = found?.payments.filter(({ until }) => until > Date.now()) ?? [];
    return payments.length ? { ...found, payments } : null;
  }

  seen(chain, ids) {
    const found = this.asked(chain);
    const payments = found?.payments.filter(({ id }) => !ids.has(id)) ?? [];
    this.#write(this.askedKey(chain), payments.length ? { ...found, payments } : null);
  }

  // Two requests to a wallet may both be signed. Either of them may arrive.
  add(chain, entry) {
    const before = this.read(chain);
    if (!before) return this.#write(this.key(chain), entry);
    const known = new Set(before.calls.flatMap(({ parts }) => parts));
    const more = entry.calls.filter(({ parts }) => !parts.every((each) => known.has(each)));
    this.#write(this.key(chain), { ...entry, sent: [...before.sent, ...entry.sent], calls: [...before.calls, ...more] });
  }

  // What was signed since the entry was read stays.
  forget(chain, { sent }) {
    const entry = this.read(chain);
    const rest = entry?.sent.filter(({ id }) => !sent.some((each) => each.id === id)) ?? [];
    this.#write(this.key(chain), rest.length ? { ...entry, sent: rest } : null);
  }

  #read(key) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? this.kept.get(key) ?? null;
    } catch {
      return this.kept.get(key) ?? null;
    }
  }

  #write(key, entry) {
    this.kept.delete(key);
    try {
      if (entry) localStorage.setItem(key, JSON.stringify(entry));
      else localStorage.removeItem(key);
    } catch {
      if (entry) this.kept.set(key, entry);
    }
  }

  // Runs `act` if no other tab signs. Returns whether it ran. Without Web Locks, only what is stored
  // keeps two tabs apart, and on the chain the ids of refunds.
  async alone(act) {
    if (!navigator.locks) {
      await act();
      return true;
    }
    return navigator.locks.request(this.lock, { ifAvailable: true }, async (lock) => {
      if (lock) await act();
      return lock !== null;
    });
  }

  // Runs `act` as soon as no other tab signs.
  async inTurn(act) {
    return navigator.locks ? navigator.locks.request(this.lock, act) : act();
  }
}

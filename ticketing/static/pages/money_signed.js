// What was signed and is not seen yet, for reloads and other tabs. One tab at a time signs, and
// decides what became of it.

const key = (tenant, kind, chain) => `signed ${tenant} ${kind} ${chain}`;

export class Signed {
  kept = new Map(); // entries by chain, where a browser stores nothing

  constructor(tenant, kind) {
    this.key = (chain) => key(tenant, kind, chain);
    this.lock = `money ${tenant}`;
  }

  // An entry: the `calls`, and what was `sent` for them, [{ id, isBatch, account }].
  read(chain) {
    try {
      return JSON.parse(localStorage.getItem(this.key(chain))) ?? this.kept.get(chain) ?? null;
    } catch {
      return this.kept.get(chain) ?? null;
    }
  }

  // Two requests to a wallet may both be signed. Either of them may arrive.
  add(chain, entry) {
    const before = this.read(chain);
    if (!before) return this.#write(chain, entry);
    const known = new Set(before.calls.flatMap(({ parts }) => parts));
    const more = entry.calls.filter(({ parts }) => !parts.every((each) => known.has(each)));
    this.#write(chain, { ...entry, sent: [...before.sent, ...entry.sent], calls: [...before.calls, ...more] });
  }

  // What was signed since the entry was read stays.
  forget(chain, { sent }) {
    const entry = this.read(chain);
    const rest = entry?.sent.filter(({ id }) => !sent.some((each) => each.id === id)) ?? [];
    this.#write(chain, rest.length ? { ...entry, sent: rest } : null);
  }

  #write(chain, entry) {
    this.kept.delete(chain);
    try {
      if (entry) localStorage.setItem(this.key(chain), JSON.stringify(entry));
      else localStorage.removeItem(this.key(chain));
    } catch {
      if (entry) this.kept.set(chain, entry);
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

// What was signed and is not seen yet, for reloads and other tabs. One tab signs at a time.

const key = (tenant, kind, chain) => `signed ${tenant} ${kind} ${chain}`;

export class Signed {
  constructor(tenant, kind) {
    this.key = (chain) => key(tenant, kind, chain);
    this.lock = `money ${tenant}`;
  }

  read(chain) {
    return JSON.parse(localStorage.getItem(this.key(chain)));
  }

  write(chain, entry) {
    localStorage.setItem(this.key(chain), JSON.stringify(entry));
  }

  // Another tab may have signed something since.
  forget(chain, { id }) {
    if (this.read(chain)?.id === id) localStorage.removeItem(this.key(chain));
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
}

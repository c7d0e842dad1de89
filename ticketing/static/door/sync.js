// The sync with the server: pushes the queue of scans, pulls the manifest, reads the stats. It never ends by itself.
//
// Events: `answer` (detail: entry, result), `change` (something of the state), `revoked`.

import { NoAnswer, Refused, Surface } from "./api.js";
import { written } from "./door.js";

const AT_ONCE = 500;
// The server takes 60 scans a minute that name a ticket by its id only.
const BY_ID_AT_ONCE = 30;
const EVERY = 5000;
const LONGEST_PAUSE = 30_000;
const STATS_EVERY = 10_000;

export class Sync extends EventTarget {
  constructor(door) {
    super();
    this.door = door;
    this.surface = new Surface(door.device);
    this.isOnline = false;
    this.stats = null;
    this.countedAt = 0;
    this.askedPause = 0;
    this.isClosed = false;
  }

  open() {
    addEventListener("online", () => this.run());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.run(); });
    return this.run();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  // Does everything that is due, then plans the next time.
  async run() {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    await this.push() && await this.pull() && await this.count();
    clearTimeout(this.timer);
    const pause = Math.min(LONGEST_PAUSE, Math.max(EVERY, this.askedPause));
    if (!this.isClosed) this.timer = setTimeout(() => this.run(), pause);
  }

  // Sends the scans that wait. Returns whether the server has answered.
  push() {
    this.pushing ??= this.attempt(() => this.drain()).finally(() => { this.pushing = undefined; });
    return this.pushing;
  }

  // Reads what has changed. Returns whether the server has answered.
  pull() {
    this.pulling ??= this.attempt(() => this.readManifest()).finally(() => { this.pulling = undefined; });
    return this.pulling;
  }

  // Sends the scans that wait, and counts again.
  async report() {
    return await this.push() && this.count();
  }

  async count() {
    if (Date.now() - this.countedAt < STATS_EVERY) return true;
    return this.attempt(async () => {
      this.stats = (await this.surface.stats()).json;
      this.countedAt = Date.now();
    });
  }

  async drain() {
    while (this.door.queue.length > 0) {
      const entries = nextOf(this.door.queue);
      const { json } = await this.surface.scans({
        sent_at: written(Date.now()),
        scans: entries.map((each) => each.scan),
        unsynced: this.door.queue.length - entries.length,
      });
      for (const detail of await this.door.answered(entries, json.results)) {
        this.dispatchEvent(new CustomEvent("answer", { detail }));
      }
      this.countedAt = 0;
    }
  }

  async readManifest() {
    const { cursor: since, etag } = this.door.manifest ?? {};
    try {
      await this.readSince(since, etag);
    } catch (error) {
      if (!(error instanceof Refused && error.status === 422 && since)) throw error;
      await this.readSince();
    }
  }

  async readSince(since, etag) {
    const asked = Date.now();
    const answer = await this.surface.manifest({ since, etag, unsynced: this.door.queue.length });
    if (this.isClosed) return;
    await this.door.take(answer.json, {
      isWhole: since === undefined,
      // The tag belongs to the request with this cursor.
      etag: answer.json && answer.json.cursor !== since ? null : answer.etag,
      syncedAt: asked,
      ahead: clockAhead(asked, Date.now(), answer.at),
    });
  }

  async attempt(act) {
    try {
      await act();
      this.isOnline = true;
      this.askedPause = 0;
    } catch (error) {
      if (error instanceof Refused && error.isRevoked) {
        this.close();
        this.dispatchEvent(new Event("revoked"));
        return false;
      }
      if (!(error instanceof NoAnswer || error instanceof Refused)) throw error;
      this.isOnline = false;
      this.askedPause = error.pause ?? 0;
    }
    this.dispatchEvent(new Event("change"));
    return this.isOnline;
  }
}

// The first scans of the queue, as many as one request can have.
function nextOf(queue) {
  let byId = 0;
  const end = queue.findIndex(({ scan }, place) => {
    byId += scan.admission_id ? 1 : 0;
    return place === AT_ONCE || byId > BY_ID_AT_ONCE;
  });
  return end < 0 ? queue : queue.slice(0, end);
}

// The server's time has whole seconds, so on average it is half a second later.
function clockAhead(asked, answered, serverTime) {
  return Number.isNaN(serverTime) ? 0 : Math.round((asked + answered) / 2 - (serverTime + 500));
}

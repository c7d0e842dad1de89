// What this device knows: its pairing, the manifest, what it has seen, the scans that wait.
//
// Everything is in memory and on the disk (store.js). The disk changes first.

import { admits, decide } from "./deciding.js";
import * as store from "./store.js";
import { importKeys } from "./ticket.js";

export const UNDO_WITHIN = 10 * 60 * 1000;

export class Door {
  static async load() {
    await store.open();
    const door = new Door();
    door.device = await store.readKept("device");
    door.last = await store.readKept("last");
    door.queue = await store.readAll("queue");
    door.sales = (await store.readKept("sales")) ?? [];
    door.seen = byId(await store.readAll("seen"));
    await door.use(await store.readKept("manifest"), await store.readAll("admissions"));
    return door;
  }

  get isPaired() {
    return this.device?.token !== undefined;
  }

  // The device is revoked, or its time is over. Only its queue is left.
  get isEnded() {
    return this.device !== undefined && !this.isPaired;
  }

  get event() {
    return this.manifest?.event;
  }

  // null: nothing is synced yet.
  get checksSignatures() {
    return this.manifest ? this.keys !== null : null;
  }

  // How much the device's clock is ahead of the server's, in milliseconds.
  get ahead() {
    return this.manifest?.ahead ?? 0;
  }

  async pair(device) {
    await store.write(["kept"], (it) => it.objectStore("kept").put(device, "device"));
    this.device = device;
  }

  // What this device sells and has not finished. It is on the disk before it is asked for.
  async keepSales(sales) {
    await store.write(["kept"], (it) => it.objectStore("kept").put(sales, "sales"));
    this.sales = sales;
  }

  // Takes a manifest: the whole one, or what has changed. `body` is null if nothing has.
  async take(body, { isWhole, etag, syncedAt, ahead }) {
    const { cursor, keys, event } = body ?? this.manifest;
    const manifest = { cursor, keys, event, etag, syncedAt, ahead };
    const changed = body?.admissions ?? [];
    await store.write(["kept", "admissions"], (it) => {
      const admissions = it.objectStore("admissions");
      if (isWhole) admissions.clear();
      for (const each of changed) admissions.put(each);
      it.objectStore("kept").put(manifest, "manifest");
    });
    await this.use(manifest, changed, isWhole);
  }

  async use(manifest, admissions, isWhole = true) {
    const hasSameKeys = JSON.stringify(manifest?.keys) === JSON.stringify(this.manifest?.keys);
    if (!hasSameKeys) this.keys = await importKeys(manifest?.keys ?? []);
    this.manifest = manifest;
    if (isWhole) [this.admissions, this.byCode] = [new Map(), new Map()];
    for (const each of admissions) {
      this.byCode.delete(this.admissions.get(each.id)?.code_digest);
      this.admissions.set(each.id, each);
      this.byCode.set(each.code_digest, each);
    }
  }

  ticketType(id) {
    return this.event?.ticket_types.find((each) => each.id === id);
  }

  isNewestKey(number) {
    return this.manifest.keys.some((each) => each.kid === number && each.newest);
  }

  // Returns the decision on a ticket. If it admits, the scan is in the queue.
  async present(presented, now) {
    const known = this.admissions.get(presented.admissionId);
    const seen = this.seen.get(presented.admissionId);
    const decision = decide(presented, { known, seen, door: this.facts(), now });
    if (admits(decision)) {
      await this.letIn(presented, decision, now);
    } else if (presented.isGenuine && presented.eventId === this.device.event_id) {
      await this.noteGeneration(presented);
    }
    return decision;
  }

  facts() {
    return {
      eventId: this.device.event_id,
      expiresAt: Date.parse(this.device.expires_at),
      opensAt: Date.parse(this.event?.doors_open_at),
      syncedAt: this.manifest?.syncedAt ?? null,
      ahead: this.ahead,
    };
  }

  async letIn({ admissionId, generation, named }, decision, now) {
    const scan = { nonce: crypto.randomUUID(), kind: "redeem", at: written(now), decided: "admitted", ...named };
    const before = this.seen.get(admissionId)?.generation ?? 0;
    const seen = { id: admissionId, generation: Math.max(generation, before), inside: scan.nonce, at: now };
    const last = { nonce: scan.nonce, admissionId, decision, at: now };
    await this.enqueue({ scan, admissionId }, { seen, last });
  }

  // Takes back the last scan. Returns the nonce of that.
  async undo(now) {
    const { nonce, admissionId, outcome } = this.last;
    const scan = { nonce: crypto.randomUUID(), kind: "undo", of: nonce, at: written(now) };
    const seen = { ...this.seen.get(admissionId), inside: null };
    const known = this.admissions.get(admissionId);
    // After a conflict, somebody else is inside with the ticket.
    const admission = known && outcome !== "conflict" ? { ...known, redeemed_at: null } : known;
    await this.enqueue({ scan, admissionId }, { seen, last: undefined, admission });
    return scan.nonce;
  }

  async enqueue(entry, { seen, last, admission }) {
    const place = await store.write(["queue", "seen", "kept", "admissions"], (it) => {
      it.objectStore("seen").put(seen);
      it.objectStore("kept").put(last, "last");
      if (admission) it.objectStore("admissions").put(admission);
      return it.objectStore("queue").add(entry);
    });
    this.queue.push({ ...entry, place });
    this.seen.set(seen.id, seen);
    this.last = last;
    if (admission) await this.use(this.manifest, [admission], false);
  }

  async noteGeneration({ admissionId, generation }) {
    const seen = this.seen.get(admissionId) ?? { id: admissionId, generation: 0, inside: null };
    if (generation <= seen.generation) return;
    const newer = { ...seen, generation };
    await store.write(["seen"], (it) => it.objectStore("seen").put(newer));
    this.seen.set(admissionId, newer);
  }

  canUndo(now) {
    return this.last !== undefined && now - this.last.at < UNDO_WITHIN;
  }

  // Removes the scans that the server has answered. Returns each with its answer.
  async answered(entries, results) {
    const answers = new Map(results.map((each) => [each.nonce, each]));
    const done = entries.filter((each) => answers.has(each.scan.nonce));
    const last = this.last && answers.get(this.last.nonce) && {
      ...this.last, outcome: answers.get(this.last.nonce).outcome,
    };
    await store.write(["queue", "kept"], (it) => {
      for (const each of done) it.objectStore("queue").delete(each.place);
      if (last) it.objectStore("kept").put(last, "last");
    });
    const places = new Set(done.map((each) => each.place));
    this.queue = this.queue.filter((each) => !places.has(each.place));
    if (last) this.last = last;
    return done.map((entry) => ({ entry, result: answers.get(entry.scan.nonce) }));
  }

  // Removes everything but the queue: the device is revoked.
  async end() {
    const { name, event_id, tenant_id } = this.device;
    const ended = { name, event_id, tenant_id };
    await store.write(["kept", "admissions", "seen"], (it) => {
      for (const each of ["kept", "admissions", "seen"]) it.objectStore(each).clear();
      it.objectStore("kept").put(ended, "device");
    });
    Object.assign(this, { device: ended, last: undefined, seen: new Map(), sales: [] });
    await this.use(undefined, []);
  }

  // Removes everything.
  async forget() {
    await store.write(store.ALL, (it) => {
      for (const each of store.ALL) it.objectStore(each).clear();
    });
    Object.assign(this, { device: undefined, last: undefined, seen: new Map(), queue: [], sales: [] });
    await this.use(undefined, []);
  }
}

export function written(moment) {
  return new Date(moment).toISOString();
}

function byId(rows) {
  return new Map(rows.map((each) => [each.id, each]));
}

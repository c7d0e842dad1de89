// The screen before the doors open: whether this device is ready, and who is inside.

import { permission } from "./camera.js";
import { LONGEST_OFFLINE } from "./deciding.js";
import { fill, find, open } from "./page.js";
import { showStats } from "./stats.js";
import { isStored } from "./updates.js";
import { dayAndTime, number, say, since } from "./words.js";

const EVERY = 1000;
const RIGHT_WITHIN = 60_000;

export class Readiness {
  constructor(door, { start, sell, signOut }) {
    this.door = door;
    this.screen = find("readiness");
    this.signOut = signOut;
    find("start").addEventListener("click", start);
    find("sell").addEventListener("click", sell);
    find("sign-out").addEventListener("click", () => this.askSignOut());
    find("sign-out-question").addEventListener("close", (event) => {
      if (event.target.returnValue === "yes") this.signOut();
    });
  }

  use(sync) {
    this.sync = sync;
    sync.addEventListener("change", () => this.show());
  }

  open() {
    find("sign-out-refused").textContent = "";
    find("paired-already").hidden = true;
    open("readiness");
    this.show();
    this.timer ??= setInterval(() => this.show(), EVERY);
  }

  close() {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  sayPaired() {
    find("paired-already").hidden = false;
  }

  async show() {
    if (this.screen.hidden) return;
    const [camera, isOfflineReady] = [await permission(), await isStored()];
    const { device, event, queue, admissions } = this.door;
    if (!this.door.isPaired) return;
    const { name, gate } = device;
    find("sell").hidden = !device.sells;
    fill(this.screen, {
      device: gate ? say("device-at-gate", { device: name, gate }) : name,
      event: event?.title ?? "",
      when: event ? dayAndTime(event.start_at, event.timezone) : "",
    });
    this.check("tickets", event ? "good" : "wait", event ? number(admissions.size) : say("tickets-none"));
    this.check("sync", ...this.syncState());
    this.check("camera", camera === "granted" ? "good" : camera === "prompt" ? "wait" : "bad", say(`camera-${camera}`));
    this.check("clock", ...this.clockState());
    const isSent = queue.length === 0;
    this.check("queue", isSent ? "good" : "wait",
      isSent ? say("queue-none") : say("queue-some", { number: number(queue.length) }));
    this.check("offline", isOfflineReady ? "good" : "wait", say(isOfflineReady ? "offline-good" : "offline-wait"));
    this.check("signatures", ...this.signatureState());
    this.showVerdict();
    showStats(this.sync.stats, this.door);
  }

  showVerdict() {
    const isLate = this.isTooOld || Date.now() - this.door.ahead > Date.parse(this.door.device.expires_at);
    const state = isLate ? "bad" : this.door.manifest ? "good" : "wait";
    const verdict = find("verdict");
    verdict.dataset.state = state;
    const text = say(`verdict-${state}`);
    if (verdict.textContent !== text) verdict.textContent = text;
    find("start").disabled = !this.door.manifest;
  }

  get age() {
    return Date.now() - this.door.manifest.syncedAt;
  }

  get isTooOld() {
    return Boolean(this.door.manifest) && this.age > LONGEST_OFFLINE;
  }

  syncState() {
    if (!this.door.manifest) return ["wait", say("sync-never")];
    const ago = { since: since(this.age) };
    if (this.isTooOld) return ["bad", say("sync-too-old", ago)];
    return this.sync.isOnline ? ["good", say("sync-online", ago)] : ["wait", say("sync-offline", ago)];
  }

  clockState() {
    if (!this.door.manifest) return ["wait", say("clock-unknown")];
    const { ahead } = this.door;
    if (Math.abs(ahead) < RIGHT_WITHIN) return ["good", say("clock-good")];
    const minutes = number(Math.round(Math.abs(ahead) / 60_000));
    return ["bad", say(ahead > 0 ? "clock-ahead" : "clock-behind", { minutes })];
  }

  signatureState() {
    const state = { true: "good", false: "bad", null: "unknown" }[this.door.checksSignatures];
    return [state === "unknown" ? "wait" : state, say(`signatures-${state}`)];
  }

  check(name, state, text) {
    const row = this.screen.querySelector(`[data-check="${name}"]`);
    row.dataset.state = state;
    const shown = row.querySelector("dd");
    if (shown.textContent !== text) shown.textContent = text;
  }

  // What waits would be lost.
  askSignOut() {
    const waiting = this.door.queue.length + this.door.sales.filter((each) => !each.isOver).length;
    find("sign-out-refused").textContent =
      waiting > 0 ? say("sign-out-refused", { number: number(waiting) }) : "";
    if (waiting > 0) return;
    find("sign-out-question").returnValue = "";
    find("sign-out-question").showModal();
  }
}

// The screen at the door: takes codes from the camera, the field and the search, and shows decisions.

import { admits, mayBeNewer } from "./deciding.js";
import { Finder } from "./finder.js";
import { Outcome } from "./outcome.js";
import { fill, find, open } from "./page.js";
import { ofAdmission, ofCode, ofQr } from "./recognizing.js";
import { Search } from "./search.js";
import { allowSound, keepScreenOn, signal } from "./signals.js";
import { number, say, timeOfDay } from "./words.js";

const IGNORED_FOR = 3000;
const SYNC_WAIT = 2000;
const QR = "T1:";

export class Scanning {
  constructor(door, back) {
    this.door = door;
    this.screen = find("scanning");
    this.code = find("code");
    this.outcome = new Outcome(door);
    this.finder = new Finder((text) => this.takeQr(text));
    this.search = new Search(door, (admission) => {
      this.take(admission.id, () => ofAdmission(admission, door), "unknown");
    });
    this.turn = Promise.resolve();
    this.readAt = new Map();
    this.troubles = 0;
    find("back").addEventListener("click", back);
    find("undo").addEventListener("click", () => this.inTurn(() => this.undo()));
    find("open-search").addEventListener("click", () => this.search.open());
    find("search").addEventListener("close", () => this.focus());
    this.setUpField();
  }

  use(sync) {
    this.sync = sync;
    this.troubles = 0;
    sync.addEventListener("change", () => this.showState());
    sync.addEventListener("answer", (event) => this.takeAnswer(event.detail));
  }

  open() {
    open("scanning");
    find("open-search").hidden = !this.door.device.show_names;
    this.outcome.show("ready");
    this.showState();
    allowSound();
    keepScreenOn();
    this.finder.open();
    this.focus();
  }

  close() {
    this.finder.close();
  }

  // A hand scanner types into the field. On phones, the keyboard opens only after a tap on it.
  setUpField() {
    find("code-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.code.value;
      this.code.value = "";
      this.focus();
      if (text.startsWith(QR)) this.takeQr(text);
      else if (text.trim() !== "") this.take(text, () => ofCode(text, this.door), "unknown");
    });
    this.code.addEventListener("pointerdown", () => {
      this.code.blur();
      this.code.inputMode = "text";
    });
    document.addEventListener("keydown", (event) => {
      const isText = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
      const isElsewhere = !event.target.closest("input, dialog");
      if (isText && isElsewhere && !this.screen.hidden) this.focus();
    });
  }

  focus() {
    if (this.screen.hidden || find("search").open) return;
    if (this.code.value === "") this.code.inputMode = "none";
    this.code.focus({ preventScroll: true });
  }

  takeQr(text) {
    this.take(text, () => ofQr(text, this.door), "not_a_ticket");
  }

  // The same code is ignored while it stays in the picture, and for 3 s after that.
  take(text, recognize, otherwise) {
    const now = performance.now();
    const isRepeated = now - (this.readAt.get(text) ?? -Infinity) < IGNORED_FOR;
    for (const [each, at] of this.readAt) if (now - at > IGNORED_FOR) this.readAt.delete(each);
    this.readAt.set(text, now);
    if (!isRepeated) this.inTurn(() => this.check(recognize, otherwise));
  }

  // One decision after another: the second of two equal tickets must see the first.
  inTurn(act) {
    this.turn = this.turn.then(() => (this.door.isPaired ? act() : undefined)).catch((error) => {
      this.outcome.show("failed");
      signal(this.outcome.kind);
      reportError(error);
    });
  }

  async check(recognize, otherwise) {
    const decision = await this.decide(recognize, otherwise);
    if (!mayBeNewer(decision) || !this.sync.isOnline) return;
    await Promise.race([this.sync.pull(), new Promise((resolve) => { setTimeout(resolve, SYNC_WAIT); })]);
    if (this.door.isPaired) await this.decide(recognize, otherwise, decision);
  }

  // Shows the decision, unless it is the one `before`.
  async decide(recognize, otherwise, before) {
    const presented = await recognize();
    const decision = presented === null ? otherwise : await this.door.present(presented, Date.now());
    if (decision === before) return decision;
    this.outcome.show(decision, presented?.admissionId);
    signal(this.outcome.kind);
    if (admits(decision)) {
      this.outcome.awaitAnswer(this.door.last.nonce);
      this.sync.report();
    }
    this.showState();
    this.focus();
    return decision;
  }

  async undo() {
    if (!this.door.canUndo(Date.now())) return;
    const { admissionId } = this.door.last;
    const nonce = await this.door.undo(Date.now());
    this.outcome.show("undone", admissionId);
    this.outcome.awaitAnswer(nonce);
    this.sync.report();
    this.showState();
    this.focus();
  }

  // The server's word on a scan may turn green to red.
  takeAnswer({ entry, result }) {
    const isAgreed = result.outcome === "admitted" || result.outcome === "undone";
    if (this.outcome.takeAnswer(entry, result, isAgreed)) {
      if (!isAgreed) signal("bad");
    } else if (!isAgreed) {
      this.troubles += 1;
      signal("bad");
    }
    this.showState();
  }

  showState() {
    if (this.screen.hidden) return;
    const { queue, event, last } = this.door;
    const { isOnline, stats } = this.sync;
    const state = find("state");
    const name = (isOnline ? "online" : "offline") + (queue.length > 0 ? "-waiting" : "");
    state.dataset.network = isOnline ? "online" : "offline";
    const text = say(name, { number: number(queue.length) });
    if (state.textContent !== text) state.textContent = text;
    fill(this.screen, {
      event: event.title,
      counts: stats && isOnline ? say("counts", { inside: number(stats.inside), all: number(stats.admissions) }) : "",
    });
    const trouble = find("trouble");
    trouble.hidden = this.troubles === 0;
    if (this.troubles > 0) trouble.textContent = say("trouble", { number: number(this.troubles) });
    const undo = find("undo");
    undo.hidden = !this.door.canUndo(Date.now());
    if (!undo.hidden) {
      const known = this.door.admissions.get(last.admissionId);
      const ticket = known?.holder_name || this.door.ticketType(known?.ticket_id)?.name || say("a-ticket");
      undo.textContent = say("undo", { ticket, time: timeOfDay(last.at, event.timezone) });
    }
  }
}

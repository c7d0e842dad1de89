// Shows one decision: its color, its word, whose ticket it is, and why.

import { admits, isOfDevice } from "./deciding.js";
import { fill, find } from "./page.js";
import { dayAndTime, has, say, timeOfDay } from "./words.js";

const GREEN_FOR = 8000;
const NEUTRAL = new Set(["ready", "undone"]);

export class Outcome {
  constructor(door) {
    this.door = door;
    this.screen = find("scanning");
    this.element = find("outcome");
  }

  // `values` are those of the sentence that explains it.
  show(decision, admissionId, values = this.valuesOf(decision, admissionId), sentence = decision) {
    clearTimeout(this.timer);
    this.decision = decision;
    this.nonce = undefined;
    this.admissionId = admissionId;
    this.kind = kindOf(decision);
    this.element.dataset.decision = decision;
    this.screen.dataset.kind = this.kind;
    // A forged code does not show whose ticket it imitates.
    const known = decision === "forged" ? undefined : this.door.admissions.get(admissionId);
    const type = this.door.ticketType(known?.ticket_id);
    const why = wordFor(`${sentence}-why`, type);
    fill(this.element, {
      word: say(wordFor(decision, type)),
      "ticket-type": type?.name ?? "",
      holder: known?.holder_name ?? "",
      why: has(why) ? say(why, values) : "",
      sent: "",
    });
    flash(this.element);
    // The next guest must not take this green for the own one. Red stays.
    if (this.kind === "good") this.timer = setTimeout(() => this.fade(), GREEN_FOR);
  }

  fade() {
    this.screen.dataset.kind = "neutral";
  }

  awaitAnswer(nonce) {
    this.nonce = nonce;
    fill(this.element, { sent: say("waits") });
  }

  // Shows the server's word on a scan. Returns whether that scan is the one that is shown.
  takeAnswer({ scan, admissionId }, result, isAgreed) {
    if (scan.nonce !== this.nonce) return false;
    if (isAgreed) {
      fill(this.element, { sent: say("sent") });
      // Of a ticket that is not in the manifest yet, only the server knows the type.
      const { ticket_name: name, hand_out: isGiven } = result.admission ?? {};
      if (name) fill(this.element, { "ticket-type": name });
      if (scan.kind === "redeem" && isGiven) fill(this.element, { word: say("hand-out-admitted") });
    } else if (scan.kind === "undo") {
      this.show("nothing_to_undo", admissionId);
    } else {
      const { first_at: first, first_gate: gate } = result;
      const values = { time: first && this.time(first), gate };
      this.show("conflict", admissionId, values, first ? (gate ? "conflict-gate" : "conflict-inside") : "conflict");
    }
    return true;
  }

  valuesOf(decision, admissionId) {
    if (decision === "twice") return { time: this.time(this.door.seen.get(admissionId).at) };
    if (decision === "already_redeemed") return { time: this.time(this.door.admissions.get(admissionId).redeemed_at) };
    if (decision === "not_open") {
      const { doors_open_at: opens, timezone } = this.door.event;
      return { time: dayAndTime(opens, timezone) };
    }
    return {};
  }

  time(moment) {
    return timeOfDay(moment, this.door.event.timezone);
  }
}

// What is handed out, such as a T-shirt, has words of its own. `type` may be undefined.
function wordFor(name, type) {
  return type?.admission === false && has(`hand-out-${name}`) ? `hand-out-${name}` : name;
}

function kindOf(decision) {
  if (NEUTRAL.has(decision)) return "neutral";
  if (admits(decision)) return "good";
  return isOfDevice(decision) || decision === "failed" ? "device" : "bad";
}

// Two equal decisions in a row look like two.
function flash(element) {
  element.classList.remove("flash");
  element.getBoundingClientRect();
  element.classList.add("flash");
}

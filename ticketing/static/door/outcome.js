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
    fill(this.element, {
      word: say(decision),
      "ticket-type": this.door.ticketType(known?.ticket_id)?.name ?? "",
      holder: known?.holder_name ?? "",
      why: has(`${sentence}-why`) ? say(`${sentence}-why`, values) : "",
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
      const type = this.door.ticketType(result.admission?.ticket_id);
      if (type) fill(this.element, { "ticket-type": type.name });
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

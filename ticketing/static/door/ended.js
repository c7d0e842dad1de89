// The screen of a revoked device: what it could not send is saved in files, for the organizer.

import { written } from "./door.js";
import { fill, find, open } from "./page.js";
import { number, say } from "./words.js";

const AT_ONCE = 500;

export class Ended {
  constructor(door, done) {
    this.door = door;
    find("remove").addEventListener("click", done);
    find("pair-again").addEventListener("click", done);
  }

  open() {
    const { length } = this.door.queue;
    open("ended");
    find("left").hidden = length === 0;
    find("pair-again").hidden = length > 0;
    find("remove").disabled = true;
    fill(find("ended"), { left: say("left", { number: number(length) }) });
    const starts = Array.from({ length: Math.ceil(length / AT_ONCE) }, (_, index) => index * AT_ONCE);
    find("files").replaceChildren(...starts.map((start) => this.file(start)));
  }

  // A body for `POST .../scans`.
  file(start) {
    const scans = this.door.queue.slice(start, start + AT_ONCE).map((each) => each.scan);
    const text = JSON.stringify({ sent_at: written(Date.now()), scans }, null, 2);
    const link = document.createElement("a");
    link.className = "button";
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `scans-${this.door.device.event_id}-${start + 1}.json`;
    link.textContent = say("file", { first: number(start + 1), last: number(start + scans.length) });
    link.addEventListener("click", () => {
      link.dataset.saved = "";
      find("remove").disabled = find("files").querySelector("a:not([data-saved])") !== null;
    });
    const item = document.createElement("li");
    item.append(link);
    return item;
  }
}

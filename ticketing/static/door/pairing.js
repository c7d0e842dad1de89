// The screen that pairs this device.

import { pair, NoAnswer, Refused } from "./api.js";
import { find, open } from "./page.js";
import { say } from "./words.js";

export class Pairing {
  constructor(door, done) {
    this.door = door;
    this.done = done;
    this.code = find("pairing-code");
    this.error = find("pairing-error");
    find("pairing-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
  }

  // `code` is that of a link. A person confirms it, because programs open links too.
  open(code = "") {
    this.code.value = code;
    this.refuse("");
    open("pairing");
    this.code.focus();
  }

  async send() {
    const button = find("pairing-form").querySelector("button");
    button.disabled = true;
    try {
      const { json } = await pair(this.code.value);
      await this.door.pair(json);
    } catch (error) {
      if (!(error instanceof NoAnswer || error instanceof Refused)) throw error;
      this.refuse(say(error instanceof Refused ? "pairing-refused" : "pairing-offline"));
      return;
    } finally {
      button.disabled = false;
    }
    navigator.storage?.persist?.();
    this.done();
  }

  refuse(text) {
    this.error.textContent = text;
    this.code.toggleAttribute("aria-invalid", text !== "");
    if (text !== "") this.code.focus();
  }
}

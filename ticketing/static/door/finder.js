// The part of the screen with the camera's picture and the light.

import { Camera } from "./camera.js";
import { find } from "./page.js";
import { say } from "./words.js";

const PROBLEMS = { NotFoundError: "no-camera", NotAllowedError: "camera-refused" };

export class Finder {
  constructor(read) {
    this.camera = new Camera(find("video"));
    this.light = find("light");
    this.isOpen = false;
    this.camera.addEventListener("read", (event) => read(event.detail));
    this.camera.addEventListener("end", () => this.say("camera-busy"));
    find("try-camera").addEventListener("click", () => this.start());
    this.light.addEventListener("click", () => this.switchLight());
    // A phone may take the camera away while the page is hidden.
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.isOpen && !this.camera.isOn) this.start();
    });
  }

  open() {
    this.isOpen = true;
    return this.start();
  }

  close() {
    this.isOpen = false;
    this.camera.stop();
  }

  async start() {
    find("no-camera").hidden = true;
    try {
      await this.camera.start();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      if (this.isOpen) this.say(PROBLEMS[error.name] ?? "camera-busy");
      return;
    }
    if (!this.isOpen) this.camera.stop();
    this.light.hidden = !this.camera.hasLight;
    this.light.ariaPressed = "false";
  }

  say(problem) {
    this.light.hidden = true;
    find("no-camera").hidden = false;
    find("no-camera").querySelector("p").textContent = say(problem);
  }

  async switchLight() {
    const isOn = this.light.ariaPressed !== "true";
    await this.camera.light(isOn);
    this.light.ariaPressed = String(isOn);
  }
}

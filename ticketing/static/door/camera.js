// The camera: its picture, its light, and the QR codes that it sees.

import { newReader } from "./reading.js";

const BETWEEN_FRAMES = 60;
const PICTURE = {
  audio: false,
  video: { facingMode: "environment", width: { ideal: 1280 }, height: { ideal: 720 } },
};

// Events: `read` (detail: a text), `end` (the system has taken the camera away).
export class Camera extends EventTarget {
  constructor(video) {
    super();
    this.video = video;
  }

  // Throws a DOMException if there is no camera, or if it is not allowed.
  async start() {
    if (!navigator.mediaDevices) throw new DOMException("no camera", "NotFoundError");
    this.reader ??= await newReader();
    const stream = await navigator.mediaDevices.getUserMedia(PICTURE);
    this.stop();
    [this.track] = stream.getVideoTracks();
    this.track.addEventListener("ended", () => this.dispatchEvent(new Event("end")));
    this.video.srcObject = stream;
    await this.video.play();
    this.read(this.track);
  }

  stop() {
    this.track?.stop();
    this.track = undefined;
    this.video.srcObject = null;
  }

  get isOn() {
    return this.track?.readyState === "live";
  }

  get hasLight() {
    return Boolean(this.track?.getCapabilities?.().torch);
  }

  async light(isOn) {
    await this.track.applyConstraints({ advanced: [{ torch: isOn }] });
  }

  // Reads until the camera stops. A new start has a new track.
  async read(track) {
    while (this.track === track && track.readyState === "live") {
      for (const text of await this.reader(this.video)) {
        if (this.track === track) this.dispatchEvent(new CustomEvent("read", { detail: text }));
      }
      await new Promise((resolve) => { setTimeout(resolve, BETWEEN_FRAMES); });
    }
  }
}

// Returns `granted`, `prompt`, `denied`, or `none` if there is no camera.
export async function permission() {
  const devices = await navigator.mediaDevices?.enumerateDevices() ?? [];
  if (!devices.some((each) => each.kind === "videoinput")) return "none";
  try {
    return (await navigator.permissions.query({ name: "camera" })).state;
  } catch {
    return "prompt"; // This browser does not say.
  }
}

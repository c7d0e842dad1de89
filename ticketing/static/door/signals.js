// What people hear and feel, and a screen that stays on.

// Each tone: hertz, start and length in seconds.
const TONES = {
  good: [[880, 0, 0.1], [1320, 0.1, 0.2]],
  bad: [[220, 0, 0.18], [165, 0.2, 0.35]],
  device: [[440, 0, 0.12], [440, 0.18, 0.12]],
  neutral: [],
};
const VIBRATIONS = { good: [70], bad: [200, 90, 200], device: [90, 60, 90], neutral: [] };
const VOLUME = 0.5;
const FADE = 0.01;

let audio;

// Browsers allow sound only after a tap.
export function allowSound() {
  audio ??= new AudioContext();
  audio.resume();
}

export function signal(kind) {
  navigator.vibrate?.(VIBRATIONS[kind]);
  if (audio?.state !== "running") return;
  for (const [hertz, start, length] of TONES[kind]) {
    const from = audio.currentTime + start;
    const [tone, volume] = [new OscillatorNode(audio, { type: "square", frequency: hertz }), new GainNode(audio)];
    volume.gain.setValueAtTime(0, from);
    volume.gain.linearRampToValueAtTime(VOLUME, from + FADE);
    volume.gain.setValueAtTime(VOLUME, from + length - FADE);
    volume.gain.linearRampToValueAtTime(0, from + length);
    tone.connect(volume).connect(audio.destination);
    tone.start(from);
    tone.stop(from + length);
  }
}

// The browser ends the lock when the page is hidden. With a low battery, it refuses it.
export function keepScreenOn() {
  const ask = () => {
    if (document.visibilityState === "visible") navigator.wakeLock?.request("screen").catch(() => {});
  };
  document.addEventListener("visibilitychange", ask);
  ask();
}

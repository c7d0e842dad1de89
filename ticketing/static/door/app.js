// Starts the scanner, and leads from one screen to the next.

import { Door } from "./door.js";
import { Ended } from "./ended.js";
import { open } from "./page.js";
import { Pairing } from "./pairing.js";
import { Readiness } from "./readiness.js";
import { Scanning } from "./scanning.js";
import { Selling } from "./selling.js";
import { Sync } from "./sync.js";
import { startNewest } from "./updates.js";

const PATIENCE = 1000;

class App {
  constructor(door) {
    this.door = door;
    this.pairing = new Pairing(door, () => this.connect());
    this.readiness = new Readiness(door, {
      start: () => this.scan(), sell: () => this.sell(), signOut: () => this.leave(),
    });
    this.selling = new Selling(door, () => this.rest());
    this.scanning = new Scanning(door, () => this.rest());
    this.ended = new Ended(door, () => this.leave());
    this.code = "";
    addEventListener("hashchange", () => this.takeCode());
  }

  start() {
    if (this.door.isEnded) this.ended.open();
    else if (this.door.isPaired) this.connect();
    else this.pairing.open();
    this.takeCode();
  }

  // The code of a pairing link. It leaves the address, and so the history.
  takeCode() {
    if (location.hash === "") return;
    this.code = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    if (this.door.device === undefined) this.pairing.open(this.code);
    else if (this.door.isPaired) this.readiness.sayPaired();
  }

  connect() {
    this.code = "";
    this.sync = new Sync(this.door);
    this.sync.addEventListener("revoked", () => this.end());
    this.readiness.use(this.sync);
    this.scanning.use(this.sync);
    this.selling.use(this.sync);
    this.rest();
    this.sync.open();
  }

  rest() {
    this.scanning.close();
    this.selling.close();
    this.readiness.open();
  }

  scan() {
    this.readiness.close();
    this.scanning.open();
  }

  sell() {
    this.readiness.close();
    this.selling.open();
  }

  async end() {
    this.scanning.close();
    this.selling.close();
    this.readiness.close();
    await this.door.end();
    this.ended.open();
  }

  async leave() {
    this.sync?.close();
    this.readiness.close();
    await this.door.forget();
    this.pairing.open(this.code);
  }
}

// One tab at a time: two would decide without each other.
async function start() {
  if (!isSecureContext || !navigator.locks) {
    open("impossible");
    return;
  }
  const waiting = setTimeout(() => open("elsewhere"), PATIENCE);
  await navigator.locks.request("door", async () => {
    clearTimeout(waiting);
    await run();
    await new Promise(() => {}); // Keep the lock.
  });
}

async function run() {
  let door;
  try {
    door = await Door.load();
  } catch {
    open("impossible");
    return;
  }
  await startNewest(door);
  new App(door).start();
}

start();

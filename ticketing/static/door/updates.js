// Installs the service worker (sw.js). New code starts only while no scan waits to be sent.

const WAIT = 2000;

// Loads the page again if the server has newer code. Without an answer in 2 s, the stored code runs.
export async function startNewest(door) {
  if (!("serviceWorker" in navigator)) return;
  const isStored = navigator.serviceWorker.controller !== null;
  const registering = navigator.serviceWorker.register("/door/sw.js", { scope: "/door/", updateViaCache: "none" });
  if (!isStored || door.queue.length > 0) return;
  const changed = new Promise((resolve) => {
    navigator.serviceWorker.addEventListener("controllerchange", () => resolve(true), { once: true });
  });
  const isNew = await Promise.race([changed, nothingNew(registering), after(WAIT)]);
  if (isNew) {
    location.reload();
    await new Promise(() => {});
  }
}

// Whether this page starts without a network.
export async function isStored() {
  return Boolean((await navigator.serviceWorker?.getRegistration("/door/"))?.active);
}

async function nothingNew(registering) {
  try {
    const registration = await (await registering).update();
    if (!registration.installing && !registration.waiting) return false;
  } catch {
    return false; // There is no network, or the new code is not complete.
  }
  return new Promise(() => {});
}

async function after(milliseconds) {
  await new Promise((resolve) => { setTimeout(resolve, milliseconds); });
  return false;
}

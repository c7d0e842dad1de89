// Keeps the page and its files, so that the scanner starts offline. It keeps nothing else.
// The server writes DOOR before this text: the version, the path of the page, the paths of its files.

const CACHE = `door-${DOOR.version}`;

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (url.origin !== location.origin || event.request.method !== "GET") return;
  // A query chooses another language, which only the server has.
  if (event.request.mode === "navigate" && url.pathname === DOOR.page && !url.search) {
    event.respondWith(page(event.request));
  } else if (/^\/door\/[0-9a-f]+\//.test(url.pathname)) {
    event.respondWith(file(event.request));
  }
});

// All files of one version, or none.
async function install() {
  const cache = await caches.open(CACHE);
  const answer = await fetch(DOOR.page, { cache: "reload" });
  if (!answer.ok || !(await answer.clone().text()).includes(DOOR.version)) {
    throw new Error("the page has another version");
  }
  await cache.addAll(DOOR.files);
  await cache.put(DOOR.page, answer);
  await skipWaiting();
}

// The newest version. While scans wait to be sent, it is the version that queued them.
async function page(request) {
  const others = (await caches.keys()).filter((name) => name.startsWith("door-") && name !== CACHE);
  let from = CACHE;
  if (others.length > 0) {
    if (await hasQueue()) from = others[0];
    else await Promise.all(others.map((name) => caches.delete(name)));
  }
  const cache = await caches.open(from);
  return (await cache.match(DOOR.page)) ?? fetch(request);
}

async function file(request) {
  return (await caches.match(request)) ?? fetch(request);
}

function hasQueue() {
  return new Promise((resolve) => {
    const opening = indexedDB.open("door");
    // There is no database yet. Do not create an empty one.
    opening.onupgradeneeded = () => opening.transaction.abort();
    opening.onerror = () => resolve(false);
    opening.onsuccess = () => {
      const database = opening.result;
      const counting = database.transaction("queue").objectStore("queue").count();
      counting.onsuccess = () => { database.close(); resolve(counting.result > 0); };
      counting.onerror = () => { database.close(); resolve(true); };
    };
  });
}

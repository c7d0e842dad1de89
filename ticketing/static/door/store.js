// What stays on the device, in IndexedDB. A change is on the disk when its promise resolves.
//
//   kept        by name: `device`, `manifest` (without admissions), `last` (the scan that can be undone),
//               `sales` (what is being sold)
//   admissions  the manifest's, by id
//   seen        by admission id: the newest generation, and the nonce of the scan that let it in
//   queue       by place: scans that the server has not answered

const NAME = "door";
const VERSION = 1;
const KEYS = { kept: undefined, admissions: "id", seen: "id", queue: "place" };
export const ALL = Object.keys(KEYS);

let database;

export async function open() {
  const opening = indexedDB.open(NAME, VERSION);
  opening.onupgradeneeded = () => {
    for (const [name, keyPath] of Object.entries(KEYS)) {
      opening.result.createObjectStore(name, { keyPath, autoIncrement: name === "queue" });
    }
  };
  database = await result(opening);
}

export async function read(names, act) {
  const transaction = database.transaction(names, "readonly");
  return result(act(transaction));
}

export async function write(names, act) {
  const transaction = database.transaction(names, "readwrite", { durability: "strict" });
  const request = act(transaction);
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  return request?.result;
}

export function readAll(name) {
  return read([name], (transaction) => transaction.objectStore(name).getAll());
}

export function readKept(name) {
  return read(["kept"], (transaction) => transaction.objectStore("kept").get(name));
}

function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

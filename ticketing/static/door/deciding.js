// Decides who may enter, from what is on the device. It reads and writes nothing.
//
// The rules and their order: docs/door.md, "Offline: the manifest".

export const LONGEST_OFFLINE = 24 * 60 * 60 * 1000;

// These let the holder in. `new`: sold since the last sync, so only the signature vouches for it.
const ADMITTING = new Set(["admitted", "new"]);

// With these, more of the manifest may change the decision.
const MAY_BE_NEWER = new Set(["unknown", "not_listed", "superseded", "suspended", "returned"]);

// These say something about the device, not about the ticket.
const OF_DEVICE = new Set(["not_synced", "device_expired", "not_open"]);

export const admits = (decision) => ADMITTING.has(decision);
export const mayBeNewer = (decision) => MAY_BE_NEWER.has(decision);
export const isOfDevice = (decision) => OF_DEVICE.has(decision);

// `presented`: admissionId, eventId, generation, isGenuine, isNewestKey. `isGenuine` is null if
// neither the signature nor the manifest's digest of the QR code can be checked. `known` is the manifest's admission, `seen` what this device
// knows of it; both may be undefined. Times are milliseconds: `now` is the device's clock, `ahead`
// how much that is ahead of the server's.
export function decide(presented, { known, seen, door, now }) {
  const serverNow = now - door.ahead;
  if (presented.isGenuine === false) return "forged";
  if (presented.eventId !== door.eventId) return "wrong_event";
  if (door.syncedAt === null || now - door.syncedAt > LONGEST_OFFLINE) return "not_synced";
  if (serverNow > door.expiresAt) return "device_expired";
  if (seen?.inside) return "twice";
  if (known?.status === "void" || known?.status === "suspended") return known.status;
  if (known?.redeemed_at) return "already_redeemed";
  if (presented.generation < Math.max(known?.generation ?? 0, seen?.generation ?? 0)) return "superseded";
  if (known?.returned) return "returned";
  if (serverNow < door.opensAt) return "not_open";
  if (presented.isGenuine === null) return "not_listed";
  if (known) return "admitted";
  return presented.isNewestKey ? "new" : "not_listed";
}

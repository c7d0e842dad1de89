// Finds out which ticket a person presents: by QR code, by typed code, or by name.

import { isGenuine, parse } from "./ticket.js";

const DIGEST_BYTES = 16;

// Returns null if it is no ticket of this service.
export async function ofQr(text, door) {
  const ticket = parse(text);
  if (ticket === null) return null;
  const { admissionId, eventId, generation, keyNumber } = ticket;
  return {
    admissionId,
    eventId,
    generation,
    isGenuine: await isGenuine(ticket, door.keys),
    isNewestKey: door.isNewestKey(keyNumber),
    named: { qr: text },
  };
}

// Returns null if the manifest does not know the code.
export async function ofCode(text, door) {
  const code = text.toLowerCase().replace(/[ -]/g, "").replace(/o/g, "0").replace(/[il]/g, "1");
  const salted = new TextEncoder().encode(door.event.code_salt + code);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", salted)).subarray(0, DIGEST_BYTES);
  const written = btoa(String.fromCharCode(...digest));
  const known = door.byCode.get(written.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""));
  // The code proves to the server that its holder was here. An id does not.
  return known === undefined ? null : { ...ofAdmission(known, door), named: { code } };
}

// The manifest vouches for it, so no signature is needed.
export function ofAdmission({ id, generation }, door) {
  return {
    admissionId: id,
    eventId: door.device.event_id,
    generation,
    isGenuine: true,
    isNewestKey: true,
    named: { admission_id: id, generation },
  };
}

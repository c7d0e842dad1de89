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
    isGenuine: await isGenuine(ticket, door.keys) ?? await isListed(text, ticket, door),
    isNewestKey: door.isNewestKey(keyNumber),
    named: { qr: text },
  };
}

// Returns null if the manifest does not know the code.
export async function ofCode(text, door) {
  const code = text.toLowerCase().replace(/[ -]/g, "").replace(/o/g, "0").replace(/[il]/g, "1");
  const known = door.byCode.get(await salted(code, door));
  // The code proves to the server that its holder was here. An id does not.
  return known === undefined ? null : { ...ofAdmission(known, door), named: { code } };
}

// Where the browser cannot check signatures, the manifest's digest of the QR code decides. Returns null without one of
// this generation.
async function isListed(text, { admissionId, generation }, door) {
  const known = door.admissions.get(admissionId);
  if (!known?.qr_digest || known.generation !== generation) return null;
  return known.qr_digest === await salted(text, door);
}

// Returns the digest of a code or a QR code, as the manifest writes it.
async function salted(text, door) {
  const bytes = new TextEncoder().encode(door.event.code_salt + text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).subarray(0, DIGEST_BYTES);
  return btoa(String.fromCharCode(...digest)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
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

// Reads the text of a QR code (docs/door.md), and checks who signed it.

const BASE45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX = "T1:";
const LENGTH = 153;
const VERSION = 1;
const SIGNED_BYTES = 36;

// Returns what the text says, or null if it is no ticket. The signature is not checked yet.
export function parse(text) {
  const data = text.length === LENGTH && text.startsWith(PREFIX) ? decode(text.slice(PREFIX.length)) : null;
  if (data === null || data[0] !== VERSION) return null;
  return {
    keyNumber: String(data[1]),
    admissionId: `adm_${id(data.subarray(2, 18))}`,
    eventId: `evt_${id(data.subarray(18, 34))}`,
    generation: data[34] * 256 + data[35],
    signed: data.subarray(0, SIGNED_BYTES),
    signature: data.subarray(SIGNED_BYTES),
  };
}

// Returns the public keys by number, or null if this browser cannot check signatures.
export async function importKeys(jwks) {
  const keys = new Map();
  for (const each of jwks) {
    try {
      const raw = Uint8Array.from(atob(each.x.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
      keys.set(each.kid, await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]));
    } catch {
      return null;
    }
  }
  return keys;
}

// Returns null if this browser cannot say.
export async function isGenuine(ticket, keys) {
  if (keys === null) return null;
  const key = keys.get(ticket.keyNumber);
  if (key === undefined) return false;
  const message = new Uint8Array([...new TextEncoder().encode(PREFIX), ...ticket.signed]);
  return crypto.subtle.verify("Ed25519", key, ticket.signature, message);
}

function decode(text) {
  const data = new Uint8Array((text.length / 3) * 2);
  for (let place = 0; place < text.length; place += 3) {
    const [a, b, c] = [...text.slice(place, place + 3)].map((each) => BASE45.indexOf(each));
    const value = a + 45 * b + 2025 * c;
    if (a < 0 || b < 0 || c < 0 || value > 0xffff) return null;
    data.set([value >> 8, value & 255], (place / 3) * 2);
  }
  return data;
}

function id(bytes) {
  let value = bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  let text = "";
  for (let place = 0; place < 26; place += 1) {
    text = BASE32[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}

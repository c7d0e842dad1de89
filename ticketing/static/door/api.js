// The calls to the service.

const SECONDS = 1000;
const RETRY_STATUSES = new Set([409, 429]);

// There was no answer that is the service's. Ask again after `pause` milliseconds.
export class NoAnswer extends Error {
  constructor(cause, pause = 0) {
    super("no answer", { cause });
    this.pause = pause;
  }
}

// The service has refused the request. `status` and `code` say why.
export class Refused extends Error {
  constructor(status, code) {
    super(code);
    this.status = status;
    this.code = code;
  }

  get isRevoked() {
    return this.status === 401 && this.code === "unauthenticated";
  }
}

export function pair(code) {
  return call("/v1/door/pair", { body: { pairing_code: code } });
}

export class Surface {
  constructor(device) {
    this.path = `/v1/door/tenants/${device.tenant_id}/events/${device.event_id}`;
    this.headers = { Authorization: `Bearer ${device.token}` };
    this.tenantId = device.tenant_id;
  }

  scans(body) {
    return call(`${this.path}/scans`, { headers: this.headers, body });
  }

  stats() {
    return call(`${this.path}/stats`, { headers: this.headers });
  }

  // What this device can sell now.
  boxOffice() {
    return call(`${this.path}/box-office`, { headers: this.headers });
  }

  // A repeat with the same key returns the same order.
  sell({ key, ticketId, quantity }) {
    const headers = { ...this.headers, "Idempotency-Key": key };
    return call(`${this.path}/box-office/orders`, { headers, body: { ticket_id: ticketId, quantity } });
  }

  // An order of this device, as its buyer sees it. `action`: `purchase` or `cancel`.
  order({ id, client_secret: secret }, action) {
    const path = `/v1/checkout/tenants/${this.tenantId}/intents/${id}`;
    const headers = { Authorization: `Bearer ${secret}` };
    return action ? call(`${path}/${action}`, { headers, method: "POST" }) : call(path, { headers });
  }

  // `json` is null if nothing has changed since `etag`.
  manifest({ since, etag, unsynced }) {
    const query = new URLSearchParams({ unsynced, ...(since && { since }) });
    const headers = { ...this.headers, ...(etag && { "If-None-Match": etag }) };
    return call(`${this.path}/manifest?${query}`, { headers, seconds: 60 });
  }
}

async function call(path, { headers = {}, body, method, seconds = 15 }) {
  const options = { method, headers, cache: "no-store", signal: AbortSignal.timeout(seconds * SECONDS) };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    options.headers = { ...headers, "Content-Type": "application/json" };
  }
  let answer, json;
  try {
    answer = await fetch(path, options);
    json = answer.status === 304 ? null : await answer.json();
  } catch (error) {
    // Also a page of somebody else, such as the sign-in of a wireless network.
    throw new NoAnswer(error);
  }
  if (answer.ok || answer.status === 304) {
    return { json, etag: answer.headers.get("ETag"), at: Date.parse(answer.headers.get("Date")) };
  }
  if (answer.status >= 500 || RETRY_STATUSES.has(answer.status) || !json.code) {
    throw new NoAnswer(json, Number(answer.headers.get("Retry-After")) * SECONDS);
  }
  throw new Refused(answer.status, json.code);
}

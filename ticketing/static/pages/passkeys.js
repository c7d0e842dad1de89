// Passkeys (WebAuthn): the browser makes or proves one, and the form sends what it answered.

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withBytes = (list = []) => list.map((each) => ({ ...each, id: bytes(each.id) }));

async function made(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: withBytes(options.excludeCredentials),
  };
  const { id, type, response } = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = response;
  return { id, type, response: {
    clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject),
  } };
}

async function proved(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: withBytes(options.allowCredentials),
  };
  const { id, type, response } = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature } = response;
  return { id, type, response: {
    clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
  } };
}

const ASK = { create: made, get: proved };

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.hidden = !window.PublicKeyCredential;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const refused = form.querySelector("[role=alert]");
    refused.hidden = true;
    try {
      const found = await ASK[form.dataset.passkey](JSON.parse(form.dataset.options));
      form.elements.credential.value = JSON.stringify({ ...found, rawId: found.id });
      form.submit();
    } catch {
      refused.hidden = false;
    }
  });
}

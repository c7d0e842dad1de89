// The form of an event. Shows the description as people will see it, while one types. Until then a
// button does.

const PAUSE = 600; // ms without a key: the server renders it, as it does for the button

const text = document.getElementById("description");
let waiting;

async function show() {
  const sent = new FormData(text.form);
  sent.set("preview", "on");
  const answer = await fetch(location.pathname, { method: "POST", body: new URLSearchParams(sent) });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const shown = page.getElementById("preview");
  if (!shown) return;
  const before = document.getElementById("preview");
  if (before) before.replaceWith(shown);
  else text.closest(".field").after(shown);
}

// A first event is most likely where its organizer is.
const zone = document.getElementById("timezone");
if (!zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;

text.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => show().catch(() => {}), PAUSE);
});

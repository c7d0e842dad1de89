// Small helps of the console's pages. Everything works without them.

// A form that takes long says so, and is sent once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.busy) return;
  form.setAttribute("aria-busy", "true");
  for (const button of [...form.elements].filter((each) => each.type === "submit")) {
    button.setAttribute("aria-disabled", "true");
    button.textContent = form.dataset.busy;
  }
});
document.addEventListener("click", (event) => {
  if (event.target.closest("button[aria-disabled]")) event.preventDefault();
});
// A page from the back button's memory is not busy any more.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// Money is moved after a press here only, never because a link from elsewhere leads there.
document.addEventListener("click", ({ target }) => {
  if (target.closest('a[href$="#start"]')) sessionStorage.setItem("start", Date.now());
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = button.dataset.sayCopied;
  });
}

// A file that is chosen fills in a text field, where it can be read and corrected.
for (const field of document.querySelectorAll("[data-into]")) {
  field.parentElement.hidden = false;
  field.addEventListener("change", async () => {
    const text = await field.files[0]?.text();
    if (text !== undefined) document.getElementById(field.dataset.into).value = text;
  });
}

// Parts of a page that show what happens now: each is replaced by the page that it names.
async function refresh(part) {
  try {
    const answer = await fetch(part.dataset.live, { cache: "no-store", redirect: "error" });
    if (answer.ok) part.innerHTML = await answer.text();
  } finally {
    setTimeout(refresh, Number(part.dataset.every) * 1000, part);
  }
}
for (const part of document.querySelectorAll("[data-live]")) {
  setTimeout(refresh, Number(part.dataset.every) * 1000, part);
}

// Rows that can be dragged to another place. The drop sends the form of the row's own buttons.
for (const list of document.querySelectorAll("[data-sortable]")) {
  let dragged;
  for (const row of list.rows) {
    row.draggable = true;
    row.addEventListener("dragstart", (event) => {
      dragged = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", row.id);
    });
    row.addEventListener("dragend", () => { dragged = undefined; });
    row.addEventListener("dragover", (event) => { if (dragged) event.preventDefault(); });
    row.addEventListener("drop", (event) => {
      if (!dragged) return;
      event.preventDefault();
      const form = dragged.querySelector("form");
      const place = [...list.rows].indexOf(row);
      if (place === [...list.rows].indexOf(dragged)) return;
      form.elements.place.value = place;
      form.submit();
    });
  }
}

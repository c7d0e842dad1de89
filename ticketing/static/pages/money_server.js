// Asks the console's own views, with its session.

import { page } from "./money_view.js";

// Posts a form, and returns the answer's JSON. A field may have several values, or none. Throws what
// the page can show.
export async function post(path, fields) {
  const body = new URLSearchParams({ csrf_token: page.dataset.csrf });
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value ?? []].flat()) body.append(name, each);
  }
  let answer, found;
  try {
    answer = await fetch(`/console/money/${path}`, { method: "POST", body, redirect: "error" });
    found = await answer.json();
  } catch {
    throw { say: "Session" };
  }
  if (!answer.ok) throw found;
  return found;
}

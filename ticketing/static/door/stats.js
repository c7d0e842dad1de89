// Shows what the server has counted: who is inside, and the conflicts.

import { fill, find } from "./page.js";
import { number, say, timeOfDay } from "./words.js";

export function showStats(stats, door) {
  find("stats").hidden = stats === null;
  if (stats === null) return;
  fill(find("stats"), {
    inside: number(stats.inside),
    "of-all": say("of-all", { all: number(stats.admissions) }),
  });
  showRows(find("by-type"), stats.by_ticket_type.map((each) => [nameOf(each), each.inside, each.admissions]));
  showRows(find("by-gate"), stats.by_gate.map((each) => [each.gate ?? say("no-gate"), each.inside]));
  find("conflicts").hidden = stats.conflicts.length === 0;
  replace(find("conflicts").querySelector("ul"), stats.conflicts.map((each) => item(each, door)));
}

function nameOf({ name, admission }) {
  return admission ? name : say("handed-out", { name });
}

function item({ scanned_at: at, gate, admission, reason }, door) {
  const type = admission && door.ticketType(admission.ticket_id);
  const conflict = document.createElement("li");
  conflict.textContent = say("conflict-line", {
    time: timeOfDay(at, door.event.timezone),
    gate: gate ?? "–",
    ticket: type?.name ?? say("a-ticket"),
    reason: say(reason),
  });
  return conflict;
}

function showRows(table, rows) {
  table.hidden = rows.length === 0;
  replace(table.tBodies[0], rows.map(([name, inside, all]) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.append(isolated(name));
    const cell = document.createElement("td");
    cell.textContent = all === undefined ? number(inside) : say("counts-of", { inside: number(inside), all: number(all) });
    row.append(head, cell);
    return row;
  }));
}

// Screen readers read again what is replaced, so only what has changed is.
function replace(parent, children) {
  const text = children.map((each) => each.textContent).join("\n");
  if (parent.dataset.text === text) return;
  parent.dataset.text = text;
  parent.replaceChildren(...children);
}

function isolated(text) {
  const element = document.createElement("bdi");
  element.textContent = text;
  return element;
}

// Finds people by name on devices that may show names.

import { find } from "./page.js";
import { number, say } from "./words.js";

const AT_LEAST = 2;
const SHOWN = 20;

export class Search {
  constructor(door, choose) {
    this.door = door;
    this.choose = choose;
    this.dialog = find("search");
    this.name = find("name");
    this.name.addEventListener("input", () => this.show());
  }

  open() {
    this.name.value = "";
    this.show();
    this.dialog.showModal();
    this.name.focus();
  }

  show() {
    const words = plain(this.name.value).split(/\s+/).filter((each) => each !== "");
    const isEnough = words.join("").length >= AT_LEAST;
    const people = isEnough ? this.people(words) : [];
    const values = { number: number(people.length), shown: number(SHOWN) };
    const text = !isEnough ? "found-type" : people.length > SHOWN ? "found-too-many" : "found";
    find("found").textContent = say(text, values);
    find("people").replaceChildren(...people.slice(0, SHOWN).map((each) => this.person(each)));
  }

  people(words) {
    const isMeant = ({ holder_name: name }) => name && words.every((each) => plain(name).includes(each));
    return [...this.door.admissions.values()].filter(isMeant)
      .sort((a, b) => a.holder_name.localeCompare(b.holder_name));
  }

  person(admission) {
    const item = find("person").content.firstElementChild.cloneNode(true);
    const button = item.querySelector("button");
    const isInside = admission.redeemed_at || this.door.seen.get(admission.id)?.inside;
    const state = isInside ? say("inside") : admission.status === "valid" ? "" : say(admission.status);
    const type = this.door.ticketType(admission.ticket_id)?.name ?? "";
    item.querySelector("bdi").textContent = admission.holder_name;
    item.querySelector(".quiet").textContent = [type, state].filter(Boolean).join(" · ");
    button.hidden = state !== "";
    button.ariaLabel = `${button.textContent} ${admission.holder_name}`;
    button.addEventListener("click", () => {
      this.dialog.close();
      this.choose(admission);
    });
    return item;
  }
}

// Without case and accents.
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

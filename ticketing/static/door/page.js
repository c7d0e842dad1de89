// The screens of the page, of which one is shown, and what they show.

const SCREENS = ["starting", "pairing", "readiness", "scanning", "selling", "ended", "elsewhere", "impossible"];

export const find = (id) => document.getElementById(id);

export function open(screen) {
  for (const each of SCREENS) find(each).hidden = each !== screen;
  scrollTo(0, 0);
}

// Writes texts into the elements that have these names in `data-show`.
export function fill(root, texts) {
  for (const [name, text] of Object.entries(texts)) {
    const element = root.querySelector(`[data-show="${name}"]`);
    if (element.textContent !== text) element.textContent = text;
  }
}

// The order form of an event: steppers for the numbers, and the sum on the button.
// Without this script they are number fields, and the sum is the first thing of the next page.

const form = document.querySelector("form[data-more]");
const button = document.getElementById("order");
const fields = [...form.querySelectorAll("input[data-unit]")];

const micro = text => {
  const match = /^(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(text.trim());
  return match && BigInt(match[1] + (match[2] ?? "").padEnd(6, "0"));
};

// As formats.number of the service: at least two decimals, no others if they are 0.
const number = amount => {
  const digits = amount.toString().padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6).replace(/0+$/, "").padEnd(2, "0")}`;
};

const unitOf = field => {
  const chosen = document.getElementById(field.id.replace("quantity.", "price."));
  return (chosen && micro(chosen.value)) ?? BigInt(field.dataset.unit);
};

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

const show = () => {
  let count = 0, sum = 0n;
  for (const field of fields) {
    const wanted = Math.max(0, Math.trunc(Number(field.value)) || 0);
    count += wanted;
    sum += BigInt(wanted) * unitOf(field);
    field.closest(".counted").classList.toggle("chosen", wanted > 0);
    const [fewer, more] = field.parentElement.querySelectorAll("button");
    fewer.disabled = wanted === 0;
    more.disabled = wanted >= Number(field.max);
  }
  if (!button.dataset.plain) button.dataset.plain = button.textContent;
  const { plain, free, sum: words } = button.dataset;
  button.textContent = count ? fill(sum ? words : free, { n: count, sum: number(sum) }) : plain;
};

const step = (field, by) => {
  const now = Math.trunc(Number(field.value)) || 0, least = Number(field.dataset.least);
  const next = now + by;
  // Fewer than the least are not sold: 0 comes before it.
  field.value = next >= least ? Math.min(next, Number(field.max)) : by > 0 ? least : 0;
  show();
};

for (const field of fields) {
  const name = form.querySelector(`label[for="${CSS.escape(field.id)}"]`).textContent;
  const make = (sign, words, by) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.setAttribute("aria-label", fill(words, { name }));
    made.addEventListener("click", () => step(field, by));
    return made;
  };
  const stepper = document.createElement("div");
  stepper.className = "stepper";
  field.replaceWith(stepper);
  stepper.append(make("−", form.dataset.fewer, -1), field, make("+", form.dataset.more, 1));
}

if (fields.length) {
  const invalid = form.querySelector("[aria-invalid]");
  if (invalid) invalid.focus();
  form.addEventListener("input", show);
  // A form that a browser fills in again after "back" changes without an event.
  addEventListener("pageshow", show);
  show();
}

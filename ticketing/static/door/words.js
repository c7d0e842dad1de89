// The words that scripts show. They are in the page's template, so that they can be translated.

const template = document.getElementById("words").content;
const language = document.documentElement.lang;
const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];

export function say(name, values = {}) {
  const text = template.querySelector(`[data-word="${name}"]`).textContent.trim();
  return text.replace(/\{(\w+)\}/g, (_, key) => isolated(String(values[key])));
}

// Text that somebody wrote cannot change the direction of what follows.
function isolated(text) {
  return /\p{L}/u.test(text) ? `\u2068${text}\u2069` : text;
}

export function has(name) {
  return template.querySelector(`[data-word="${name}"]`) !== null;
}

export function number(value) {
  return new Intl.NumberFormat(language).format(value);
}

// An amount of micro-units, in whole tokens.
export function amount(microUnits) {
  const places = { minimumFractionDigits: 2, maximumFractionDigits: 6 };
  return new Intl.NumberFormat(language, places).format(microUnits / 1e6);
}

export function timeOfDay(moment, timeZone) {
  return new Date(moment).toLocaleTimeString(language, { timeStyle: "short", timeZone });
}

export function dayAndTime(moment, timeZone) {
  return new Date(moment).toLocaleString(language, { dateStyle: "medium", timeStyle: "short", timeZone });
}

export function since(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
  return ago.format(-Math.floor(seconds / size), unit);
}

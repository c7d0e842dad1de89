// Asks for the page again until it is this person's turn, and says news to screen readers.

const SAID_EVERY = 30_000;
const AFTER_FAILURE = 10;

const waiting = () => document.getElementById("waiting");
let saidAt = Date.now();

async function ask() {
  const answer = await fetch(location.href, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const news = page.getElementById("waiting");
  // Another page: it is their turn, or the room has closed, or the event is gone.
  const isLater = answer.status === 429 || answer.status >= 500;
  if (!news && !isLater) return location.reload();
  if (!news) return again(Number(answer.headers.get("Retry-After")) || AFTER_FAILURE);
  document.title = page.title;
  waiting().replaceWith(news);
  say(document.getElementById("place").textContent);
  again(Number(news.dataset.retry));
}

function say(words) {
  const said = document.getElementById("said");
  if (said.textContent === words || Date.now() - saidAt < SAID_EVERY) return;
  said.textContent = words;
  saidAt = Date.now();
}

function again(seconds) {
  setTimeout(() => ask().catch(() => again(AFTER_FAILURE)), seconds * 1000);
}

again(Number(waiting().dataset.retry));

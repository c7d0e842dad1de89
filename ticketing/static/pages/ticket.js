// Keeps the screen on while a QR code is shown, copies the link of an offer, and prints.

const find = id => document.getElementById(id);

if (document.querySelector(".ticket-qr")) {
  // The browser ends the lock when the page is hidden. Without a battery to spare, it refuses it.
  const keepScreenOn = () => {
    if (document.visibilityState === "visible") {
      navigator.wakeLock?.request("screen").catch(() => {});
    }
  };
  document.addEventListener("visibilitychange", keepScreenOn);
  keepScreenOn();
}

// The link to the form opens what hides it.
if (find("passing-on") && location.hash === "#pass-on") find("passing-on").open = true;

const copy = find("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(find("offer-link").textContent);
    } catch {
      getSelection().selectAllChildren(find("offer-link"));
      return;
    }
    copy.textContent = find("copy-state").textContent = copy.dataset.sayCopied;
  });
}

const print = find("print");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}

// A worker: finds a QR code in a picture.

importScripts("jsqr/jsQR.js");

addEventListener("message", ({ data: { data, side } }) => {
  // Codes on tickets are dark on white, so the inverted picture is not searched.
  const found = jsQR(data, side, side, { inversionAttempts: "dontInvert" });
  postMessage(found ? [found.data] : []);
});

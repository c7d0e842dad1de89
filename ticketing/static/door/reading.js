// Reads QR codes from a picture: with the browser's own detector, else with jsQR in a worker.

const SIDE = 640;

// Returns a function: from a video to the texts of the QR codes in its current frame.
export async function newReader() {
  const formats = await globalThis.BarcodeDetector?.getSupportedFormats() ?? [];
  return formats.includes("qr_code") ? detectorReader() : workerReader();
}

function detectorReader() {
  const detector = new BarcodeDetector({ formats: ["qr_code"] });
  return async (video) => {
    try {
      return (await detector.detect(video)).map((each) => each.rawValue);
    } catch {
      return []; // The video has no frame yet.
    }
  };
}

function workerReader() {
  const worker = new Worker(new URL("reader.js", import.meta.url));
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  return async (video) => {
    const { videoWidth: width, videoHeight: height } = video;
    const side = Math.min(width, height);
    if (side === 0) return [];
    // The square in the middle, which is what the page shows.
    context.drawImage(video, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIDE, SIDE);
    const { data } = context.getImageData(0, 0, SIDE, SIDE);
    const answer = new Promise((resolve) => {
      worker.addEventListener("message", (event) => resolve(event.data), { once: true });
    });
    worker.postMessage({ data, side: SIDE }, [data.buffer]);
    return answer;
  };
}

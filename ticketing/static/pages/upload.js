// Makes a picture smaller before it is sent. Without this, or if it fails, the file is sent as it is.

async function smaller(file, most) {
  const bitmap = await createImageBitmap(file);
  if (bitmap.width <= most) return file;
  const canvas = document.createElement("canvas");
  canvas.width = most;
  canvas.height = Math.round((bitmap.height * most) / bitmap.width);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  // A PNG may be transparent.
  const type = file.type === "image/jpeg" ? "image/jpeg" : "image/png";
  const blob = await new Promise((done) => canvas.toBlob(done, type, 0.92));
  return blob && blob.size < file.size ? new File([blob], file.name, { type }) : file;
}

for (const form of document.querySelectorAll("form[data-scaled]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { image } = form.elements;
    try {
      const chosen = new DataTransfer();
      chosen.items.add(await smaller(image.files[0], Number(form.dataset.scaled)));
      image.files = chosen.files;
    } finally {
      form.submit();
    }
  });
}

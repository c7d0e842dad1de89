"""What a scanner sees on the screen of a browser."""

import base64

import zxingcpp
from playwright.sync_api import Locator

_GREYS = """
async png => {
    const image = new Image();
    image.src = "data:image/png;base64," + png;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const greys = Array.from({ length: data.length / 4 }, (_, n) => data[4 * n + 1]);
    return [image.width, image.height, greys];
}
"""


def scanned(shown: Locator) -> list[str]:
    """Return the texts of the codes in a part of a page, as it is painted.

    Not of codes that are light on dark: not every scanner reads them.
    """
    png = base64.b64encode(shown.screenshot()).decode()
    # The policy of the page allows no such image.
    blank = shown.page.context.new_page()
    width, height, greys = blank.evaluate(_GREYS, png)
    blank.close()
    pixels = memoryview(bytes(greys)).cast("B", shape=[height, width])
    return [found.text for found in zxingcpp.read_barcodes(pixels, try_invert=False)]

"""Run Chromium without a window, controlled by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tools import START_SECONDS, chromium

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
"""Options of Playwright's `new_context`."""

_OPEN_FORMS = """
[...document.querySelectorAll("details:has(form):not([open]), form details:not([open])")]
    .map(each => each.open = true).length
"""

_ARGUMENTS = [
    # A page cannot reach another host, not even by mistake.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--font-render-hinting=none",
    # Each page may use the camera, without a question: this Chromium cannot show one.
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]


@contextmanager
def browser(*arguments: str) -> Iterator[Browser]:
    """Run a Chromium with an empty profile, fake camera and more `arguments`. ToolMissing.

    It has no sandbox: root and most containers cannot have one, and it opens only our own pages.
    Meanwhile this thread can run no other asyncio event loop.
    """
    program = chromium.binary()
    variables: dict[str, str | float | bool] = {**chromium.environ(program)}
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program,
            env=variables,
            args=[*_ARGUMENTS, *arguments],
            chromium_sandbox=False,
            timeout=START_SECONDS * 1000,
        )
        try:
            yield running
        finally:
            running.close()


def open_forms(page: Page) -> bool:
    """Open what hides a form or a part of one. Return whether there was such a thing."""
    return bool(page.evaluate(_OPEN_FORMS))

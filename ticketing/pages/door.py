"""The scanner at the door: one page, its files, and the service worker that keeps them offline.

The page uses the JSON surface of the door. Everything else happens in the browser, in scripts below
static/door. The way of a scan through them:

1. `camera.js` gives frames to `reading.js`: the browser's own detector, or jsQR in `reader.js`.
2. `scanning.js` takes the text, also from the field and from `search.js`, one after another.
3. `recognizing.js` finds the ticket; `ticket.js` reads the QR code and checks its signature.
4. `deciding.js` applies the rules. It is a pure function.
5. `door.js` has the state in memory and on the disk. It puts the scan into the queue (`store.js`).
6. `outcome.js` and `signals.js` show the decision. It is final for the device, not for the server.
7. `sync.js` sends the queue with `api.js`. The server decides again (services/door/scans.py).
   `door.js` removes what the answer names. If the server disagrees, `outcome.js` turns red.

Every five seconds, `sync.js` also reads the manifest and the counts. `app.js` leads from screen to
screen: `pairing.js`, `readiness.js` with `stats.js`, `scanning.js` with `finder.js`, `ended.js`,
and `selling.js` on devices that sell (services/box_office.py).
`page.js` shows them, with the texts that `words.js` takes from the templates. `sw.js` is the
service worker, `updates.js` starts new code.
"""

import json
from pathlib import Path

from flask import Response, redirect, request, send_from_directory
from werkzeug import Response as AnyResponse

from ticketing import locales
from ticketing.errors import NotFound
from ticketing.limits import CallClass
from ticketing.pages import assets, render
from ticketing.pages.blueprint import CONTENT_SECURITY_POLICY, PageBlueprint
from ticketing.pages.guards import Visitor
from ticketing.web import origin

PATH = "/door/"
LANGUAGE = "door_language"
"""The cookie with the language of a device's scanner."""

_A_YEAR = 365 * 24 * 3600
FOLDER = Path(__file__).parents[1] / "static" / "door"
WORKER = "sw.js"

_TEMPLATES = Path(__file__).parents[1] / "templates" / "pages" / "door"
_FILES = sorted(
    file
    for file in FOLDER.rglob("*")
    if file.suffix in (".js", ".css", ".png", ".svg") and file.name != WORKER
)
_NAMES = frozenset(file.relative_to(FOLDER).as_posix() for file in _FILES)
_CHECKED = "no-cache"

VERSION = assets.version_of([*_FILES, FOLDER / WORKER, *sorted(_TEMPLATES.iterdir())])
"""It changes with the page and its files. A device never mixes two versions."""

HEADERS = {
    "Content-Security-Policy": (
        f"{CONTENT_SECURITY_POLICY}; worker-src 'self'; manifest-src 'self'; media-src 'self'"
    ),
    "Permissions-Policy": "camera=(self)",
}
WORKER_POLICY = "default-src 'none'; connect-src 'self'"

blp = PageBlueprint("door", __name__, guard=Visitor(posts_as=CallClass.PUBLIC), headers=HEADERS)


def url(name: str) -> str:
    """Return the path of a file. The service worker's scope contains it."""
    return f"{PATH}{VERSION}/{name}"


@blp.get("/door")
def redirect_to_door() -> AnyResponse:
    """Lead to the page. Browsers keep the pairing code behind the `#`."""
    return redirect(PATH, 308)


@blp.get(PATH)
def show_door() -> Response:
    """Show the scanner, in the language that was chosen on this device. English at first."""
    locale = _locale()
    page = render.page("door/page.html", spoken=locale, file=url, version=_version(locale))
    response = _checked(page, "text/html")
    if locales.chosen(request.environ["QUERY_STRING"]) is not None:
        response.set_cookie(
            LANGUAGE,
            locale,
            max_age=_A_YEAR,
            path=PATH,
            secure=origin.is_https(),
            httponly=True,
            samesite="Lax",
        )
    return response


def _locale() -> str:
    chosen = locales.chosen(request.environ["QUERY_STRING"])
    return locales.first(chosen, request.cookies.get(LANGUAGE))


def _version(locale: str) -> str:
    """Return what changes with the code, and with the words of a language."""
    return f"{VERSION}-{locale}"


@blp.get(f"{PATH}manifest.webmanifest")
def show_manifest() -> Response:
    """Return what browsers need to install the page."""
    text = render.page("door/manifest.webmanifest", spoken=_locale(), path=PATH, file=url)
    return _checked(text, "application/manifest+json")


@blp.get(f"{PATH}{WORKER}")
def show_worker() -> Response:
    """Return the service worker. It changes with each version, so that browsers install it."""
    known = {
        "version": _version(_locale()),
        "page": PATH,
        "files": [url(name) for name in sorted(_NAMES)],
    }
    text = f"const DOOR = {json.dumps(known)};\n{(FOLDER / WORKER).read_text()}"
    response = _checked(text, "text/javascript")
    response.headers["Content-Security-Policy"] = WORKER_POLICY
    return response


@blp.get(f"{PATH}<version>/<path:name>")
def show_file(version: str, name: str) -> Response:
    """Return a file of this version. NotFound for another one."""
    if version != VERSION or name not in _NAMES:
        raise NotFound
    response = send_from_directory(FOLDER, name)
    response.headers["Cache-Control"] = assets.FOR_A_YEAR
    return response


def _checked(text: str, content_type: str) -> Response:
    response = Response(text, content_type=f"{content_type}; charset=utf-8")
    response.headers["Cache-Control"] = _CHECKED
    return response

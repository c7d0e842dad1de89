"""The files that pages load: stylesheet, scripts, icon, a tenant's color. Browsers keep them."""

import hashlib
import mimetypes
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from flask import Response, request

from ticketing import accents
from ticketing.errors import NotFound
from ticketing.limits import CallClass
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import Visitor

FOLDER = Path(__file__).parents[1] / "static" / "pages"

FOR_A_YEAR = "public, max-age=31536000, immutable"
"""The Cache-Control of a file whose path has its version."""

_CHECKED = "no-cache"
_MOST_AT_ONCE = 4
_KEPT = 64
"""The most combinations of files that are kept. Pages have about twenty."""

_GZIP_FORMAT = zlib.MAX_WBITS | 16
_COMPRESSED = (".css", ".js", ".svg")
"""The only answers of pages that are compressed: their length tells no secret."""

_HEX_DIGITS = frozenset("0123456789abcdef")


def version_of(files: Iterable[Path]) -> str:
    """Return a text that changes with the content of these files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _packed(file: Path) -> bytes:
    """Return a file without the comments and the indentation that only we read."""
    content = file.read_bytes()
    if file.suffix == ".css":
        return _packed_css(content)
    if file.suffix == ".js":
        lines = (line.strip() for line in content.splitlines())
        return b"\n".join(line for line in lines if line and not line.startswith(b"//"))
    return content


def _packed_css(content: bytes) -> bytes:
    first, *others = content.split(b"/*")
    spoken = first + b"".join(each.partition(b"*/")[2] for each in others)
    packed = b" ".join(spoken.split())
    for sign in (b"{", b"}", b";"):
        packed = packed.replace(b" " + sign, sign).replace(sign + b" ", sign)
    return packed.replace(b": ", b":").replace(b", ", b",")


_FILES = {file.name: _packed(file) for file in FOLDER.iterdir()}

VERSION = version_of(sorted(FOLDER.iterdir()))
"""It changes with the files, so that a browser never mixes old and new ones."""

blp = PageBlueprint("assets", __name__, guard=Visitor(posts_as=CallClass.PUBLIC))


def url(*names: str) -> str:
    """Return the path of a file, or of several stylesheets as one."""
    return f"/_assets/{VERSION}/{'+'.join(names)}"


@blp.get("/_assets/<version>/<name>")
def show_asset(version: str, name: str) -> Response:
    """Return a file. One of another version must not be kept: this is not that version."""
    names = name.split("+")
    if not set(names) <= _FILES.keys() or len(names) > _MOST_AT_ONCE:
        raise NotFound
    content_type, _encoding = mimetypes.guess_type(name)
    is_compressible = name.endswith(_COMPRESSED)
    is_compressed = is_compressible and request.accept_encodings.quality("gzip") > 0
    response = Response(_content(name, is_compressed), mimetype=content_type)
    response.headers["Cache-Control"] = FOR_A_YEAR if version == VERSION else _CHECKED
    if is_compressible:
        response.headers["Vary"] = "Accept-Encoding"
    if is_compressed:
        response.headers["Content-Encoding"] = "gzip"
    response.add_etag()
    response.make_conditional(request)
    return response


@lru_cache(_KEPT)
def _content(name: str, is_compressed: bool) -> bytes:
    """Return a file, or several as one, in gzip format (RFC 1952) if it is compressed."""
    content = b"\n".join(_FILES[each] for each in name.split("+"))
    if not is_compressed:
        return content
    stream = zlib.compressobj(9, zlib.DEFLATED, _GZIP_FORMAT)
    return stream.compress(content) + stream.flush()


def accent_url(color: str) -> str:
    """Return the path of the stylesheet of an organizer's color: `#` and six hex digits."""
    return f"/_accent/{VERSION}/{color[1:].lower()}.css"


@blp.get("/_accent/<version>/<color>.css")
def show_accent(version: str, color: str) -> Response:
    """Return a stylesheet with the colors that are made of an organizer's: six hex digits."""
    if len(color) != 6 or not set(color) <= _HEX_DIGITS:
        raise NotFound
    made = accents.of(f"#{color}")
    dark = f"@media(prefers-color-scheme:dark){{:root{{{_values(made.dark)}}}}}"
    css = f":root{{{_values(made.light)}}}{dark}"
    response = Response(css, content_type="text/css; charset=utf-8")
    response.headers["Cache-Control"] = FOR_A_YEAR if version == VERSION else _CHECKED
    return response


def _values(scheme: accents.Scheme) -> str:
    return (
        f"--accent:{scheme.accent};--on-accent:{scheme.on_accent};"
        f"--link:{scheme.link};--accent-soft:{scheme.soft}"
    )

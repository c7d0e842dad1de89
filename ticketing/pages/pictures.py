"""The files of pictures and logos. A URL has the digest of its file, so browsers keep it."""

from functools import lru_cache

from flask import Response

from ticketing.limits import CallClass
from ticketing.pages.assets import FOR_A_YEAR
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import Visitor
from ticketing.services import images

KEPT = 16
"""Files in the memory of a process. One has some 100 KB, and 1.5 MB at most."""

blp = PageBlueprint(
    "pictures",
    __name__,
    guard=Visitor(posts_as=CallClass.PUBLIC),
    # If a browser opens the file as a page, nothing in it may run.
    headers={"Content-Security-Policy": "default-src 'none'; sandbox"},
)


@blp.get("/<tenant:tenant>/_image/<digest>")
def show_image(tenant: str, digest: str) -> Response:
    """Return the largest file of an image."""
    return _file(tenant, digest, "")


@blp.get("/<tenant:tenant>/_image/<digest>/<name>")
def show_file(tenant: str, digest: str, name: str) -> Response:
    """Return another file of it: of a smaller width, or the one for links."""
    return _file(tenant, digest, name)


def _file(tenant: str, digest: str, name: str) -> Response:
    content_type, content = _find(tenant, digest, name)
    response = Response(content, content_type=content_type)
    response.headers["Cache-Control"] = FOR_A_YEAR
    return response


@lru_cache(KEPT)
def _find(tenant: str, digest: str, name: str) -> tuple[str, bytes]:
    return images.find(tenant, digest, name)

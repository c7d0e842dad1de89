"""The files of pictures and logos. A URL has the digest of its file, so browsers keep it."""

from functools import lru_cache
from typing import NamedTuple

from flask import Response

from ticketing.limits import CallClass
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.pages.assets import FOR_A_YEAR
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import Visitor
from ticketing.services import images
from ticketing.services.images import Picture

KEPT = 16
"""Files in the memory of a process. One has some 100 KB, and 1.5 MB at most."""

LOGO_BOX = (144, 36)
"""The largest width and height of a logo on a page, in pixels of CSS."""

blp = PageBlueprint(
    "pictures",
    __name__,
    guard=Visitor(posts_as=CallClass.PUBLIC),
    # If a browser opens the file as a page, nothing in it may run.
    headers={"Content-Security-Policy": "default-src 'none'; sandbox"},
)


class Logo(NamedTuple):
    """A logo as pages show it: its path, and its size in pixels of CSS."""

    path: str
    width: int
    height: int


def logo_of(tenant: Tenant) -> Logo:
    """Return the logo of a tenant that has one, as it fits into LOGO_BOX."""
    digest = str(tenant.logo_digest)
    logo = _picture(digest)
    scale = min(LOGO_BOX[0] / logo.width, LOGO_BOX[1] / logo.height)
    size = max(1, round(logo.width * scale)), max(1, round(logo.height * scale))
    return Logo(images.path(tenant.slug, digest), *size)


def picture_of(event: Event) -> Picture | None:
    """Return the picture of an event, if it has one."""
    return None if event.image_digest is None else _picture(event.image_digest)


@lru_cache(1000)
def _picture(digest: str) -> Picture:
    """Return a picture. A digest never has another one, so this asks once."""
    return images.pictures([digest])[digest]


def file_of(tenant: Tenant, of: Picture, name: str) -> str:
    """Return the path of a file of an image. The largest one has the empty name."""
    return images.path(tenant.slug, of.digest, name)


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

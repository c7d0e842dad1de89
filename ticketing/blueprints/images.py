"""The surface of images: pictures of events, and the logo."""

from flask import request

from schemas.images import EventImageSchema, LogoSchema
from ticketing.errors import ImageInvalid, ImagesBusy, NotFound, UnsupportedMediaType
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services import images
from ticketing.web import auth, image_changes
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

TYPES = ("image/jpeg", "image/png", "image/webp")

blp = ApiBlueprint(
    "images",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Pictures of events, and the organizer's logo.",
)


@blp.put("/events/<event_id>/image")
@blp.upload(*TYPES)
@blp.response(200, EventImageSchema)
@blp.raises(NotFound, ImageInvalid, ImagesBusy)
def put_event_image(tenant: str, event_id: str) -> Event:
    """Set the picture of an event: a JPEG, PNG or WebP, at least 600 pixels wide.

    It has at most 12 MiB and 50 megapixels. Its metadata, such as where it was taken, is not kept.
    Few are read at once: after a 503, retry.
    """
    # Few processes need Pillow.
    from ticketing.services import image_files

    images.event(caller().tenant_id, event_id)  # before the work of decoding
    return image_changes.set_picture(event_id, image_files.of_picture(_sent()))


@blp.delete("/events/<event_id>/image")
@blp.response(204)
@blp.raises(NotFound)
def delete_event_image(tenant: str, event_id: str) -> None:
    """Remove the picture of an event."""
    image_changes.set_picture(event_id, None)


@blp.get("/logo")
@blp.response(200, LogoSchema)
def get_logo(tenant: str) -> Tenant:
    """Read where the logo is."""
    return images.logo(caller().tenant_id, config())


@blp.put("/logo")
@blp.upload(*TYPES)
@blp.response(200, LogoSchema)
@blp.raises(ImageInvalid, ImagesBusy)
def put_logo(tenant: str) -> Tenant:
    """Set the logo: a JPEG, PNG or WebP, at least 64 pixels wide, within the same limits."""
    # Few processes need Pillow.
    from ticketing.services import image_files

    return image_changes.set_logo(image_files.of_logo(_sent()))


@blp.delete("/logo")
@blp.response(204)
@blp.raises(NotFound)
def delete_logo(tenant: str) -> None:
    """Remove the logo."""
    image_changes.set_logo(None)


def _sent() -> bytes:
    """Return the body. UnsupportedMediaType unless it is declared as one of TYPES."""
    is_encoded = request.headers.get("Content-Encoding", "identity").lower() != "identity"
    if request.mimetype not in TYPES or is_encoded:
        raise UnsupportedMediaType("Send the body as image/jpeg, image/png or image/webp.")
    return request.get_data(cache=False)

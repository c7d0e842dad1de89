"""The console's forms of pictures and of the logo."""

from contextlib import closing
from functools import partial

from flask import request
from werkzeug import Response

from ticketing.constants import MAX_IMAGE_FORM_BYTES
from ticketing.pages import forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.events import event_page
from ticketing.pages.console.settings import PATH as SETTINGS
from ticketing.pages.console.settings import settings_page
from ticketing.roles import Role
from ticketing.services import images as stored_images
from ticketing.web import image_changes
from ticketing.web.context import caller
from ticketing.web.event_scope import ONE_EVENT

FIELD = "image"
LOGO = f"{SETTINGS}/logo"

blp = ConsoleBlueprint("images", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT)
logo_blp = ConsoleBlueprint("logo", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})
blp.max_form_bytes = logo_blp.max_form_bytes = MAX_IMAGE_FORM_BYTES


@blp.post(paths.event("<event_id>", "image"))
def set_picture(event_id: str) -> Response:
    """Set the picture of an event, and go back to its page."""
    stored_images.event(caller().tenant_id, event_id)

    def change() -> str:
        # Few processes need Pillow.
        from ticketing.services import image_files

        files = image_files.of_picture(_sent())
        image_changes.set_picture(event_id, files, action="images_put_event_image")
        return f"{paths.event(event_id)}#saved"

    return forms.carried_out(change, partial(event_page, event_id))


@blp.post(paths.event("<event_id>", "image/delete"))
def remove_picture(event_id: str) -> Response:
    """Remove the picture of an event, and go back to its page."""

    def change() -> str:
        image_changes.set_picture(event_id, None, action="images_delete_event_image")
        return f"{paths.event(event_id)}#saved"

    return forms.carried_out(change, partial(event_page, event_id))


@logo_blp.post(LOGO)
def set_logo() -> Response:
    """Set the logo, and go back to the settings."""

    def change() -> str:
        # Few processes need Pillow.
        from ticketing.services import image_files

        image_changes.set_logo(image_files.of_logo(_sent()), action="images_put_logo")
        return f"{SETTINGS}#saved"

    return forms.carried_out(change, settings_page)


@logo_blp.post(f"{LOGO}/delete")
def remove_logo() -> Response:
    """Remove the logo, and go back to the settings."""

    def change() -> str:
        image_changes.set_logo(None, action="images_delete_logo")
        return f"{SETTINGS}#saved"

    return forms.carried_out(change, settings_page)


def _sent() -> bytes:
    """Return the file that was chosen. Empty if there is none."""
    file = request.files.get(FIELD)
    if file is None:
        return b""
    with closing(file):
        content: bytes = file.read()
    return content

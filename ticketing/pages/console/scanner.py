"""The page on which members open the scanner in their own browser."""

from functools import partial

from flask import g, redirect, request
from werkzeug import Response

from schemas.door_devices import DoorDeviceSchema
from ticketing.pages import forms
from ticketing.pages.console import one_time
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import SCANNER, page
from ticketing.pages.console.words import browser
from ticketing.pages.forms import Form
from ticketing.roles import SCANNING
from ticketing.services.door import devices
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered

_MAX_NAME = 100

blp = ConsoleBlueprint(
    "scanner", __name__, reads=SCANNING, writes=SCANNING, scope=filtered("show_events")
)


@blp.get(SCANNER)
def show_events() -> str:
    """List the events at which one may scan."""
    return _page(Form())


@blp.post(f"{SCANNER}/<event_id>")
def open_scanner(event_id: str) -> Response:
    """Pair this browser with an event, and open the scanner."""

    def pair() -> Response:
        # What the organizer sees of the device: whose it is, and which browser.
        name = f"{g.email}, {browser(request.user_agent.string) or 'browser'}"[:_MAX_NAME]
        create = partial(devices.create_own, caller(), event_id, name, config())
        made = one_time.made_once(
            lambda: recorded(DoorDeviceSchema, create, action="door_devices_create_door_device")
        )
        # The same form again: its code was used.
        path = SCANNER if made is None else devices.PAIRING_PATH + made.pairing_code
        return redirect(path, 303)

    return forms.answered(pair, _page)


def _page(form: Form) -> str:
    found = devices.to_scan(caller())
    has_camera = origin.is_https() or origin.is_of_this_machine()
    return page("scanner.html", "scanner", form=form, events=found, has_camera=has_camera)

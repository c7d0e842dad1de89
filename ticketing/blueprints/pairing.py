"""The pairing surface: exchange a pairing code for a door device's token."""

from typing import Any

from schemas.door_devices import PairedDeviceSchema, PairSchema
from ticketing.errors import InvalidCredentials
from ticketing.limits import CallClass
from ticketing.models.door import DoorDevice
from ticketing.services.door import devices
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "pairing",
    __name__,
    url_prefix="/v1/door",
    guard=auth.Open(CallClass.TOKEN),
    description="Pair a door device.",
)


@blp.post("/pair")
@blp.arguments(PairSchema)
@blp.response(200, PairedDeviceSchema)
@blp.raises(InvalidCredentials)
def pair_door_device(body: dict[str, Any]) -> DoorDevice:
    """Exchange a pairing code for the device's token. The code works once."""
    return devices.pair(body["pairing_code"], config().keyring)

"""Schemas of crowds: networks from which many people order tickets of one event."""

from ipaddress import ip_network
from typing import Any

from marshmallow import fields, post_load

from schemas.base import BaseSchema, Int, Items, ListOf, Number, String, Text, an_id
from schemas.checks import Length, Range, Rule
from ticketing.constants import CROWD_WIDEST, MAX_CROWDS, MAX_SAFE_INTEGER


def _is_network(text: str) -> bool:
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        return False
    return found.prefixlen >= CROWD_WIDEST[found.version]


_ARE_DISTINCT = Rule(
    lambda crowds: len({each["network"] for each in crowds}) == len(crowds),
    "distinct_networks",
    "Must not have a network twice.",
)


class CrowdSchema(BaseSchema):
    """A network, and how many seats of the event its people may order together."""

    network = Text(
        "203.0.113.0/24",
        "An address or a network: of IPv4 to /16, of IPv6 to /32.",
        required=True,
        validate=[
            Length(1, 60),
            Rule(
                _is_network,
                "network",
                "Must be an address or a network, of IPv4 to /16 or of IPv6 to /32.",
            ),
        ],
    )
    seats = Int(
        300,
        "At most what the operator allows: 1,000 if nothing else is set.",
        required=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )

    @post_load
    def normalize(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the network in the notation that is stored."""
        return {**data, "network": str(ip_network(data["network"], strict=False))}


class CrowdsChangeSchema(BaseSchema):
    """All crowds of an event."""

    crowds = Items(
        fields.Nested(CrowdSchema),
        "Each network once.",
        required=True,
        validate=[Length(0, MAX_CROWDS, "items"), _ARE_DISTINCT],
    )


class NamedCrowdSchema(BaseSchema):
    """A network, and how many seats of the event its people may order together."""

    network = String("203.0.113.0/24")
    seats = Number(300)


class CrowdsSchema(BaseSchema):
    """The crowds of an event."""

    id = an_id("evt_")
    crowds = ListOf(NamedCrowdSchema)

"""Converters of the paths of pages."""

import re

from werkzeug.routing import BaseConverter

from ticketing.constants import RESERVED_SLUGS

_SLUG = "[a-z0-9]+(?:-[a-z0-9]+)*"
_RESERVED = "|".join(map(re.escape, sorted(RESERVED_SLUGS)))


class SlugConverter(BaseConverter):
    """The slug of an event."""

    regex = _SLUG


class TenantConverter(BaseConverter):
    """The slug of a tenant. A word that begins another path is none."""

    regex = f"(?!(?:{_RESERVED})(?![a-z0-9-])){_SLUG}"

"""How large the body of a request may be, by its path, and which bodies go to a file."""

import re

from ticketing.constants import MAX_BODY_BYTES, MAX_IMAGE_BYTES, MAX_IMAGE_FORM_BYTES
from ticketing.scanning import MAX_SCANS_BODY_BYTES

_SCANS_PATH = re.compile(r"/v1/door/tenants/[^/]+/events/[^/]+/scans")
_IMAGE_PATH = re.compile(r"/v1/admin/tenants/[^/]+/(?:events/[^/]+/image|logo)")
_IMAGE_FORM_PATH = re.compile(r"/console/(?:events/[^/]+/image|settings/logo)")


def max_body_bytes(path: str) -> int:
    """Return the size limit of a request's body. `path` is the decoded path of its URL."""
    if is_upload(path):
        return MAX_IMAGE_BYTES if path.startswith("/v1/") else MAX_IMAGE_FORM_BYTES
    return MAX_SCANS_BODY_BYTES if _SCANS_PATH.fullmatch(path) else MAX_BODY_BYTES


def is_upload(path: str) -> bool:
    """Whether requests of a path may have a body that is too large to be kept in memory."""
    return bool(_IMAGE_PATH.fullmatch(path) or _IMAGE_FORM_PATH.fullmatch(path))


ACCEPT_BODY = "ticketing.accept_body"
"""The key of a WSGI environment without its body yet: what to call so that the body is read."""

"""What a repeated response shows of an admission to its holder."""

from typing import Any

from schemas.admissions import HeldAdmissionSchema
from ticketing.services import admission_views
from ticketing.services.orders import holders
from ticketing.web.context import config, tenant_of_path

NEVER_STORED = ("code", "qr", "online_join_url", "holder", "answers")
"""What the response to a change shows only while the admission has the same generation."""

_NOBODY = {"name": None, "email": None}


def held_again(stored: dict[str, Any], *, shows_code: bool) -> dict[str, Any]:
    """Return what a repeat shows of an admission: it as it is now, if it has not changed hands."""
    admission = holders.get(tenant_of_path().id, stored["id"], None)
    if admission.generation != stored["generation"]:
        return {"holder": _NOBODY, "answers": {}}
    shown = admission_views.for_holder(admission, config().keyring, shows_code=shows_code)
    again: dict[str, Any] = HeldAdmissionSchema().dump(shown)
    return again

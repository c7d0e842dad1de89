"""The console's pages of attendees: who has a ticket, and what an organizer can do about it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import redirect
from werkzeug import Response

from schemas.admissions import AdmissionSchema, ReissuedAdmissionSchema, ReissueSchema, VoidSchema
from ticketing import links
from ticketing.constants import AdmissionStatus, ReturnStatus
from ticketing.models.admissions import Admission
from ticketing.pages import answers as answer_fields
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, one_time, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.one_time import Answer, Secret
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import erasure
from ticketing.services.catalog import titles
from ticketing.services.door import undoing
from ticketing.services.notifications import mail_queue
from ticketing.services.orders import admissions, answers, reissues
from ticketing.services.payments import voids
from ticketing.web import origin
from ticketing.web.audited import erased, noted, recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered
from ticketing.web.idempotency import once

PATH = "/console/attendees"
_TICKET = f"{PATH}/<admission_id>"

blp = ConsoleBlueprint(
    "attendees",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.WRITE},
    scope=filtered("list_attendees"),
)
erasing = ConsoleBlueprint("attendee_erasure", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def list_attendees() -> str:
    """List tickets with their holders, the newest first."""
    tenant_id, searched = caller().tenant_id, list_filters.text("q")
    status = list_filters.choice("status", AdmissionStatus)
    used = list_filters.choice("used", words.Used)
    giving_back = list_filters.choice("return", ReturnStatus)
    event_id = list_filters.text("event_id")
    found = admissions.list_page(
        tenant_id,
        list_filters.page_request(),
        event_id=event_id,
        event_ids=caller().event_ids,
        status=status,
        redeemed=None if used is None else used is words.Used.YES,
        giving_back=giving_back,
        q=searched,
        newest_first=True,
    )
    titles.add_to(found.data)
    titles.add_types_to(found.data)
    chosen = {
        "q": searched,
        "event_id": event_id,
        "status": status,
        "used": used,
        "return": giving_back,
    }
    return page(
        "attendees.html",
        "attendees",
        tickets=found.data,
        chosen=chosen,
        events=titles.latest_events(tenant_id, caller().event_ids),
        next_page=list_filters.next_page(found, chosen),
        words=words,
    )


@blp.get(_TICKET)
def show_attendee(admission_id: str) -> str:
    """Show one ticket with its holder."""
    return _page(admission_id)


@blp.post(f"{_TICKET}/void")
def void_ticket(admission_id: str) -> Response:
    """Take a ticket back, with or without a refund."""

    def take_back() -> str:
        fields = typed_forms.read(VoidSchema)
        once(forms.key(), lambda: void(admission_id, fields=fields))
        return f"{PATH}/{admission_id}#taken-back"

    return forms.carried_out(take_back, lambda form: _page(admission_id, voiding=form))


def void(admission_id: str, *, fields: Mapping[str, Any]) -> str:
    """Take a ticket back as the fields of VoidSchema say, and record it. Return its id."""
    tenant_id = caller().tenant_id
    details = {name: fields[name] for name in ("refund", "transferred", "force")}
    voided: Admission = recorded(
        AdmissionSchema,
        lambda: voids.void(tenant_id, admission_id, **fields),
        partial(admissions.get, tenant_id, admission_id),
        action="admissions_void_admission",
        details=details,
    )
    return str(voided.id)


@blp.post(f"{_TICKET}/undo")
def undo_entry(admission_id: str) -> Response:
    """Undo the scan that let the holder in."""
    tenant_id, by = caller().tenant_id, caller().credential_id

    def undo() -> str:
        recorded(
            AdmissionSchema,
            lambda: undoing.undo_entry(tenant_id, admission_id, by=by),
            partial(admissions.get, tenant_id, admission_id),
            action="admissions_undo_entry",
        )
        return f"{PATH}/{admission_id}#entry-undone"

    return forms.carried_out(undo, lambda form: _page(admission_id, voiding=form))


@blp.post(f"{_TICKET}/send")
def send_ticket(admission_id: str) -> Response:
    """Mail a ticket to its holder once more, as it is."""

    def send_again() -> str:
        send(admission_id)
        return f"{PATH}/{admission_id}#sent-again"

    return forms.carried_out(send_again, lambda form: _page(admission_id, reissuing=form))


def send(admission_id: str) -> None:
    """Mail a ticket to its holder once more, and record it."""
    noted(
        admission_id,
        partial(reissues.send_again, caller().tenant_id, admission_id, config()),
        lambda _: {"sent_again": True},
        action="admissions_send_admission",
    )


@blp.post(f"{_TICKET}/reissue")
def reissue_ticket(admission_id: str) -> Response:
    """Give a ticket a new code, which is mailed or shown once."""
    tenant_id = caller().tenant_id

    def reissue() -> Response:
        email = typed_forms.read(ReissueSchema).get("email")
        made: Admission | None = one_time.made_once(
            lambda: recorded(
                ReissuedAdmissionSchema,
                lambda: reissues.reissue(tenant_id, admission_id, email=email, config=config()),
                partial(admissions.get, tenant_id, admission_id),
                action="admissions_reissue_admission",
                details={} if email is None else {"email": email},
            )
        )
        path = f"{PATH}/{admission_id}"
        if email is not None:
            return redirect(f"{path}#mailed", 303)
        secrets = (
            None
            if made is None
            else [Secret("Link of the ticket", origin.origin() + links.ticket(made.code))]
        )
        text = "Send it only to the person who has the ticket. The earlier link and QR code ended."
        return one_time.answer("attendees", Answer("New link for a ticket", text, path, secrets))

    return forms.answered(reissue, lambda form: _page(admission_id, reissuing=form))


@blp.post(f"{_TICKET}/answers")
def change_answers(admission_id: str) -> Response:
    """Change the answers of a ticket's holder."""
    tenant_id = caller().tenant_id

    def change() -> str:
        before = answers.read(tenant_id, admission_id)
        asked = [each for each in before.questions if not each.archived]
        sent = answer_fields.read(asked)
        # What the holder has not answered may stay so, also if it is required.
        given = {
            name: sent[name]
            for name in sent
            if sent[name] not in (None, []) or name in before.answers
        }
        recorded(
            AdmissionSchema,
            partial(answers.change_by_organizer, tenant_id, admission_id, given),
            partial(admissions.get, tenant_id, admission_id),
            action="admissions_change_answers",
            details={"answered": sorted(given)},
        )
        return f"{PATH}/{admission_id}#answered"

    return forms.carried_out(change, lambda form: _page(admission_id, answering=form))


@erasing.post(f"{_TICKET}/erase")
def erase_holder(admission_id: str) -> Response:
    """Erase the name and email address of a ticket's holder."""
    erased(erasure.erase_admission, admission_id, action="erasure_erase_admission")
    return redirect(f"{PATH}/{admission_id}#erased", 303)


def _page(
    admission_id: str,
    voiding: Form | None = None,
    reissuing: Form | None = None,
    answering: Form | None = None,
) -> str:
    tenant_id = caller().tenant_id
    admission = answers.read(tenant_id, admission_id)
    given = answer_fields.typed(admission.questions, admission.answers)
    return page(
        "attendee.html",
        "attendees",
        ticket=admission,
        order=admission.intent,
        zone=admission.event.timezone,
        mails=mail_queue.about(tenant_id, [admission_id]),
        voiding=voiding or Form(),
        reissuing=reissuing or Form(),
        answering=answering or Form(values=given),
        writes_mail=config().smtp is not None,
        words=words,
    )

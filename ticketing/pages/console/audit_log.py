"""The console's page of the audit log: who changed what."""

from ticketing.pages.console import audit_words, list_filters
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.roles import Role
from ticketing.services.access import actors, audit_log, audit_subjects, members
from ticketing.web.context import caller

PATH = "/console/audit-log"

blp = ConsoleBlueprint("audit_log", __name__, reads={Role.ADMIN}, writes={Role.ADMIN})


@blp.get(PATH)
def list_changes() -> str:
    """List changes, the latest first."""
    tenant_id = caller().tenant_id
    actor, subject = list_filters.text("actor"), list_filters.text("subject")
    found = audit_log.list_page(tenant_id, actor, subject, list_filters.page_request())
    chosen = {"actor": actor, "subject": subject}
    return page(
        "audit_log.html",
        "audit_log",
        changes=[audit_words.change_of(each) for each in found.data],
        names=actors.names(tenant_id, {str(each.actor) for each in found.data}),
        titles=audit_subjects.names(tenant_id, {str(each.subject) for each in found.data}),
        people=[(each.id, each.email) for each in members.list_all(tenant_id) if each.email],
        chosen=chosen,
        next_page=list_filters.next_page(found, chosen),
    )

"""`flask --app app members`: people of the organizer, who sign in with a password."""

import sys
from typing import Any

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, config, record_change
from ticketing.errors import Invalid, NotFound
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.access import audit_log, invitations, members, second_factors, tenants

group = AppGroup("members", help="Manage members, who sign in with a password.")

_ROLES = click.Choice([role.value for role in Role])


@group.command("add")
@click.argument("tenant")
@click.argument("email")
@click.option("--role", required=True, type=_ROLES, help="What the member may do.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@command
def add(tenant: str, email: str, role: str, password_stdin: bool) -> None:
    """Add a member to TENANT. Asks for the password."""
    if password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        member = members.add(tenant_id, email, Role(role), password)
        record_change(tenant_id, member.id, before=None, after=_shown(member))
    click.echo(f"added {member.email} with role {member.role}")


@group.command("invite")
@click.argument("tenant")
@click.argument("member")
@click.option(
    "--role",
    type=_ROLES,
    help="What the member may do. A new member needs it.",
)
@command
def invite(tenant: str, member: str, role: str | None) -> None:
    """Print a link at which MEMBER of TENANT sets a password, once, within 48 hours.

    MEMBER is the email address of a new member, or the address or id of one who exists: who has
    lost the password or the earlier link, or was disabled. Without PUBLIC_URL, the link is a path.
    """
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        before, invited = _invited(tenant_id, member, None if role is None else Role(role))
        link = invitations.url(invited.invitation, config())
        after = {**_shown(invited), "invitation_url": link}
        record_change(tenant_id, invited.id, before=before, after=after)
    click.echo(link)


def _invited(tenant_id: str, name: str, role: Role | None) -> tuple[dict[str, Any] | None, Member]:
    """Return what a member was before (None: new), and the member with an invitation."""
    keyring = config().keyring
    try:
        found = members.find(tenant_id, name)
    except NotFound:
        if role is None:
            raise Invalid({"role": ["A new member needs --role."]}) from None
        return None, invitations.create(tenant_id, name, role, keyring)
    if role is not None:
        members.change(tenant_id, found.id, {"role": role})
    return _shown(found), invitations.invite(tenant_id, found.id, keyring)


def _shown(member: Member) -> dict[str, Any]:
    return {"email": member.email, "role": member.role, "status": member.status}


@group.command("list")
@click.argument("tenant")
@command
def list_members(tenant: str) -> None:
    """List the members of TENANT."""
    for member in members.list_all(tenants.find(tenant).id):
        click.echo(f"{member.email or member.id}  {member.role}  {member.status}")


@group.command("reset-second-factor")
@click.argument("tenant")
@click.argument("member")
@command
def reset_second_factor(tenant: str, member: str) -> None:
    """Remove the app, the passkeys and the recovery codes of MEMBER, who has lost them.

    First make sure that it is really this person who asks. The password stays.
    """
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        found = members.find(tenant_id, member)
        second_factors.reset(tenant_id, found.id)
        before = {"has_second_factor": found.has_second_factor}
        record_change(tenant_id, found.id, before=before, after={"has_second_factor": False})
    click.echo(f"removed the second factors of {found.email or found.id}")


@group.command("disable")
@click.argument("tenant")
@click.argument("member")
@command
def disable(tenant: str, member: str) -> None:
    """End a member's access at once. MEMBER is an email address or an id.

    Unlike the API, it also disables the last active administrator. With 'members invite', that
    person or another one gets access again.
    """
    tenant_id = tenants.find(tenant).id
    with audit_log.changes(tenant_id):
        found = members.find(tenant_id, member)
        disabled = members.disable(tenant_id, found.id, even_last_admin=True)
        before, after = {"status": found.status}, {"status": disabled.status}
        record_change(tenant_id, found.id, before=before, after=after)
    click.echo(f"disabled {found.email or found.id}")

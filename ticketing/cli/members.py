"""`flask --app app members`: people of the organizer, who sign in with a password."""

import sys

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, record_change, role_option
from ticketing.constants import Role
from ticketing.services.access import audit_log, members, tenants

group = AppGroup("members", help="Manage members, who sign in with a password.")


@group.command("add")
@click.argument("tenant")
@click.argument("email")
@role_option
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
        after = {"email": member.email, "role": member.role}
        record_change(tenant_id, member.id, before=None, after=after)
    click.echo(f"added {member.email} with role {member.role}")


@group.command("list")
@click.argument("tenant")
@command
def list_members(tenant: str) -> None:
    """List the members of TENANT."""
    for member in members.list_all(tenants.find(tenant).id):
        click.echo(f"{member.email or member.id}  {member.role}  {member.status}")


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

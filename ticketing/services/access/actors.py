"""The names of those who make changes: members, API keys and connected apps, by their ids."""

from collections.abc import Collection, Mapping

from ticketing import ids
from ticketing.models.api_keys import ApiKey
from ticketing.models.connected_apps import ConnectedApp
from ticketing.models.members import Member


def names(tenant_id: str, actors: Collection[str]) -> Mapping[str, str]:
    """Return the names of a tenant's members, keys and apps. Others, as `cli`, have none."""
    found: dict[str, str] = {}
    member_ids = [each for each in actors if ids.is_id(ids.MEMBER, each)]
    if member_ids:
        of_tenant = (Member.tenant == tenant_id) & Member.id.in_(member_ids)
        rows = Member.select(Member.id, Member.email).where(of_tenant)
        found.update({each.id: each.email for each in rows if each.email is not None})
    key_ids = [each for each in actors if ids.is_id(ids.API_KEY, each)]
    if key_ids:
        of_tenant = (ApiKey.tenant == tenant_id) & ApiKey.id.in_(key_ids)
        found.update(
            {each.id: each.name for each in ApiKey.select(ApiKey.id, ApiKey.name).where(of_tenant)}
        )
    app_ids = [each for each in actors if ids.is_id(ids.CONNECTED_APP, each)]
    if app_ids:
        apps = ConnectedApp.select(ConnectedApp, Member).join(Member)
        of_tenant = (ConnectedApp.tenant == tenant_id) & ConnectedApp.id.in_(app_ids)
        found.update(
            {each.id: f"{each.name}, {each.member.email}" for each in apps.where(of_tenant)}
        )
    return found

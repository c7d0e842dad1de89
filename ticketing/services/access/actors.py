"""The names of those who make changes: members and API keys, by their ids."""

from collections.abc import Collection, Mapping

from ticketing import ids
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member


def names(tenant_id: str, actors: Collection[str]) -> Mapping[str, str]:
    """Return the names of a tenant's members and keys. Others, as `cli`, have none."""
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
    return found

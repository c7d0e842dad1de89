"""The migration 0011 with members of before and after it."""

import pytest

from ticketing.db import migrate
from ticketing.db.connection import database

TIME = "2026-01-01T00:00:00.000000Z"


def add_member(member_id, tenant_id, **columns):
    row = {
        "id": member_id,
        "tenant_id": tenant_id,
        "role": "admin",
        "created_at": TIME,
        "email": f"{member_id}@example.org",
        "password_hash": "x",
        **columns,
    }
    places = ", ".join([database.param] * len(row))
    statement = f"INSERT INTO members ({', '.join(row)}) VALUES ({places})"
    database.execute_sql(statement, list(row.values()))


def members():
    rows = database.execute_sql("SELECT id, email, password_hash FROM members ORDER BY id")
    return [tuple(row) for row in rows.fetchall()]


@pytest.mark.long
def test_members_stay_and_only_those_without_a_password_or_address_are_lost_by_the_way_back(acme):
    while migrate.downgrade() != ["0011_people"]:
        pass
    add_member("mem_1", acme.id)
    migrate.upgrade()
    add_member("mem_2", acme.id, password_hash=None)
    add_member("mem_3", acme.id, email=None)
    assert len(members()) == 3
    while migrate.downgrade() != ["0011_people"]:
        pass
    assert members() == [("mem_1", "mem_1@example.org", "x")]
    migrate.upgrade()
    assert members() == [("mem_1", "mem_1@example.org", "x")]

"""What an organizer's people do while the plans of all queries are recorded."""

from tests.conftest import SECRET_KEY
from tests.support.members import PASSWORD, accept
from tests.support.query_plans.admissions_drive import post_twice
from tests.support.query_plans.pages_drive import PagesDrive
from ticketing.credentials import Keyring
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import members, sessions
from ticketing.services.catalog import sales_figures
from ticketing.services.pagination import PageRequest

KEYRING = Keyring(SECRET_KEY)


class PeopleDrive(PagesDrive):
    """The part of the drive that members do, and what their console reads."""

    def with_people(self) -> None:
        """Invite people of a large tenant."""
        for name in ("ada", "bob"):
            asked = {"email": f"{name}@example.org", "role": "read"}
            made = self.big.post("/v1/admin/tenants/big/members", asked)
            assert made.status_code == 201

    def meet(self) -> None:
        """Invite a member, change the role, disable and invite again."""
        path, me = f"{self.acme.path}/members", self.key_of("acme")
        asked = {"email": "bob@example.org", "role": "admin"}
        invited = post_twice(me, path, asked).json
        assert accept(self.acme, invited["invitation_url"]).status_code == 200
        member = f"{path}/{invited['id']}"
        assert me.patch(member, {"role": "write"}).status_code == 200
        assert post_twice(me, f"{member}/disable", None).status_code == 200
        event = Event.select().where(Event.tenant == self.acme.id).first()
        limit = {"role": "door", "event_ids": [event.id]}
        assert me.patch(member, limit).status_code == 200
        assert me.patch(member, {"role": "write", "event_ids": None}).status_code == 200
        link = post_twice(me, f"{member}/invite", None).json["invitation_url"]
        assert accept(self.acme, link).status_code == 200
        self._use_sessions()
        self.work()

    def look_at_sales(self) -> None:
        """Read the sales of one event and of all, and the overview of a large tenant."""
        self.big.get("/v1/admin/tenants/big/money")
        path = "/v1/admin/tenants/big/sales"
        by = [{"event_id": self.hit.id, "by": each} for each in ("ticket", "voucher", "tag")]
        for query in ({}, {"event_id": self.hit.id}, *by):
            assert self.big.get(path, query_string=query).status_code == 200
        tenant_id = Tenant.get(Tenant.slug == "big").id
        self.recorder.where = "overview"
        first = sales_figures.overview(tenant_id, PageRequest(2, None, KEYRING))
        sales_figures.overview(tenant_id, PageRequest(2, first.next_cursor, KEYRING))
        self.recorder.where = None

    def _use_sessions(self) -> None:
        member = members.sign_in(self.acme.id, "bob@example.org", PASSWORD)
        assert member is not None and member.role == Role.WRITE
        self.recorder.where = "sessions"
        secret = sessions.begin(member, None, None, KEYRING)
        assert sessions.find(secret, KEYRING) is not None
        for session in sessions.list_of(member.id):
            sessions.end(member.id, session.id)
        sessions.end_all(member.id)
        self.recorder.where = None

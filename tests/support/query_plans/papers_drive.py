"""Pictures, papers and lost links, while the plans of all queries are recorded."""

import re
from html import unescape
from io import BytesIO
from typing import Any

from tests.conftest import SECRET_KEY
from tests.support.console import PASSWORD
from tests.support.mails import PUBLIC_URL
from tests.support.order_pages import SAME_ORIGIN
from tests.support.photos import photo
from tests.support.query_plans.catalog_drive import MemberBrowser
from ticketing import clock, credentials, links
from ticketing.models.members import Member
from ticketing.services.mail import lost_links

_UPLOAD = re.compile(r'action="([^"]*)" enctype="multipart/form-data"')
SETTINGS = "/console/settings"
JPEG = {"Content-Type": "image/jpeg"}


class PapersDrive:
    """The part of the drive about what is shared and printed."""

    app: Any
    acme: Any

    def share_and_print(self) -> None:
        """Upload pictures by the API and in the console, look at them, and print an order."""
        ticket = self.acme.ticket(price_amount=0, chain_id=None)
        event_id = ticket["event_id"]
        self._upload(event_id)
        self._in_the_member_console(event_id)
        anybody = self.app.test_client()
        event = anybody.get(f"{self.acme.public}/events/{event_id}").json
        self._look_at(anybody, f"/_e/acme/{event['slug']}")
        buyer = self.acme.buyer(ticket, buyer={"email": "papers@example.org"})
        assert buyer.purchase().status_code == 200
        billed = {"name": "Ada", "address": "1 Street", "tax_id": "X1"}
        assert buyer.api.post(f"{buyer.path}/billing", billed).status_code == 200
        assert buyer.api.get(f"{buyer.path}/receipt").status_code == 200
        order = f"{links.ORDER}{buyer.intent['id']}.{buyer.intent['client_secret']}"
        for path in (f"{order}/print", f"{order}/receipt", f"{order}/receipt.json"):
            self._look_at(anybody, path)
        self._submit(anybody, f"{order}/receipt", f"{order}/billing", {"name": "Grace"})
        sent = {"email": "Papers@example.org"}
        assert buyer.api.post(f"{buyer.path}/email", sent).status_code == 200
        self._submit(anybody, order, f"{order}/email", {"email": "papers@example.org"})
        lost = "/_f/acme"
        self._submit(anybody, lost, lost, {"email": "papers@example.org"})
        config = self.app.extensions["ticketing"]
        url, _ = lost_links.link(self.acme.id, "papers@example.org", config)
        self._look_at(anybody, url.removeprefix(config.public_url))
        self._forget_a_password(anybody)

    def _forget_a_password(self, anybody: Any) -> None:
        email, there = "forgetful@example.org", "/console/forgotten"
        member = MemberBrowser(self.app, self.acme.slug, email)
        for tenant in (self.acme.slug, "No Such Organizer"):
            self._submit(anybody, there, there, {"tenant": tenant, "email": email})
        change = {"password": PASSWORD, "new_password": f"{PASSWORD}, another"}
        member.press_once("/console/account/password", change)
        found = Member.get(Member.email == email)
        ends_at = int(clock.now().timestamp()) + 60
        reset = credentials.password_reset(SECRET_KEY, found.id, found.generation, ends_at)
        link = f"/console/reset/{reset}"
        self._submit(anybody, link, link, {"password": PASSWORD})

    def _upload(self, event_id: str) -> None:
        me = self.acme.api()
        own = me.headers or {}
        for path, role in ((f"events/{event_id}/image", ""), ("logo", "?")):
            url = f"{self.acme.path}/{path}"
            for _ in range(2):
                sent = me.client.put(url, data=photo(), headers={**own, **JPEG})
                assert sent.status_code == 200, sent.text
            shown = sent.json.get("image_url") or sent.json["logo_url"]
            digest = shown.rpartition("/_image/")[2].partition("/")[0]
            for name in ("", "/480") if not role else ("",):
                path = f"/acme/_image/{digest}{name}"
                answer = self.app.test_client().get(path, base_url=PUBLIC_URL)
                assert answer.status_code == 200, (shown, answer.status_code)
        assert me.get(f"{self.acme.path}/logo").status_code == 200
        for path in (f"events/{event_id}/image", "logo"):
            assert me.delete(f"{self.acme.path}/{path}").status_code == 204

    def _in_the_member_console(self, event_id: str) -> None:
        member = MemberBrowser(self.app, self.acme.slug, "pictures@example.org")
        of_event = f"/console/events/{event_id}"
        for page, path in ((of_event, f"{of_event}/image"), (SETTINGS, f"{SETTINGS}/logo")):
            action = unescape(_UPLOAD.findall(member.open(page))[0])
            member.press_once(action, {"image": (BytesIO(photo()), "photo.jpg", "image/jpeg")})
            member.press_once(f"{path}/delete", {})

    @staticmethod
    def _look_at(anybody: Any, path: str) -> Any:
        answer = anybody.get(path, base_url=PUBLIC_URL)
        assert answer.status_code == 200, (path, answer.text)
        return answer

    def _submit(self, anybody: Any, page: str, path: str, fields: dict[str, str]) -> None:
        self._look_at(anybody, page)
        answer = anybody.post(path, data=fields, headers=SAME_ORIGIN, base_url=PUBLIC_URL)
        assert answer.status_code == 303, (path, answer.text)

"""pretix, as its documentation installs it: gunicorn, a Celery worker, Redis and Postgres.

Its event sells one product without a limit. Its buyers state an email address, which pretix
requires, and choose a manual payment. What our order does not ask or do is off: names of
attendees, the invoice address, and the mail about the order.
"""

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

from bench.harness import environment, new_folder
from tools import installer
from tools.daemons import Redis
from tools.json_client import Client
from tools.stack import Stack, StackFailed, free_port

PINS = Path(__file__).parent / "pretix.in"
EVENT = "/bench/hot-night/"
API = "/api/v1/organizers/bench/events/"

# The sections and values of doc/admin/installation/manual_smallscale.rst.
_SETTINGS = Template("""\
[pretix]
instance_name=Bench
url=http://127.0.0.1:$port
currency=EUR
datadir=$folder/data
trust_x_forwarded_for=on
trust_x_forwarded_proto=on
[database]
backend=postgresql
name=$database
user=$user
host=$host
port=$database_port
[mail]
from=tickets@example.org
host=127.0.0.1
[redis]
location=redis://127.0.0.1:$redis_port/0
sessions=true
[celery]
backend=redis://127.0.0.1:$redis_port/1
broker=redis://127.0.0.1:$redis_port/2
""")
# The command lines of the same document.
_WEB = ["gunicorn", "pretix.wsgi", "--name", "pretix", "--workers", "5", "--log-level=info"]
_WEB += ["--max-requests", "1200", "--max-requests-jitter", "50"]
_WORKER = ["celery", "-A", "pretix.celery_app", "worker", "-l", "info"]

# Only the first key of an organizer and the payment cannot be made through the API.
_ORGANIZER = """\
import json
from django_scopes import scopes_disabled
from pretix.base.models import Organizer

with scopes_disabled():
    bench = Organizer.objects.create(name="Bench", slug="bench")
    bench.settings.set("payment_manual__enabled", True)
    bench.settings.set("attendee_names_asked", False)
    bench.settings.set("invoice_address_asked", False)
    bench.settings.set("mail_sales_channel_placed_paid", [])
    everything = {"all_event_permissions": True, "all_organizer_permissions": True}
    team = bench.teams.create(name="API", all_events=True, **everything)
    print(json.dumps(team.tokens.create(name="bench").token))
"""


@dataclass(frozen=True)
class Shop:
    """What a buyer and an organizer need to order."""

    token: str
    item: int


class Pretix(Stack):
    """pretix on a database. Its web server and its worker are started by `start`."""

    name = "pretix"

    def __init__(self, database_url: str, redis: Redis, folder: Path) -> None:
        """Install it, and write its settings. ToolMissing."""
        self._python = installer.from_pypi(PINS, "pretix") / "bin" / "python"
        port, settings = free_port(), folder / "pretix.cfg"
        place = urlsplit(database_url)
        values = {
            "port": port,
            "folder": folder,
            "database": place.path.strip("/"),
            "user": place.username,
            "host": place.hostname,
            "database_port": place.port,
            "redis_port": redis.port,
        }
        settings.write_text(_SETTINGS.substitute(values))
        (folder / "data").mkdir()
        # Both write into the home of their user.
        own = {"HOME": str(folder), "PRETIX_CONFIG_FILE": str(settings), "PORT": str(port)}
        super().__init__(own, log=folder / "log", environ=environment(), root=folder)

    @property
    def version(self) -> str:
        """The version of what is installed."""
        return self._run("-c", "import pretix; print(pretix.__version__)").strip()

    def open_shop(self) -> Shop:
        """Create the tables and an organizer, start, and put an event on sale. StackFailed."""
        self._run("-m", "pretix", "migrate")
        said = self._run("-m", "pretix", "shell", "-c", _ORGANIZER)
        token = json.loads(said.splitlines()[-1])
        self._start("web", [str(self._python), "-m", *_WEB, f"--bind=127.0.0.1:{self.port}"])
        self._start("worker", [str(self._python), "-m", *_WORKER])
        self._wait_for_web("/healthcheck/")
        return Shop(token, self._event(Client(self.url), token))

    def _event(self, client: Client, token: str) -> int:
        """Put an event on sale, and return the id of its product. StackFailed."""

        def ask(method: str, path: str, body: Any, status: int) -> Any:
            headers = {"Authorization": f"Token {token}"}
            answer = client.send(method, f"{API}{path}", body, headers)
            if answer.status != status:
                raise StackFailed(f"pretix, {method} {path}: {answer.status} {answer.json}")
            return answer.json

        event = {
            "name": {"en": "Hot Night"},
            "slug": "hot-night",
            "currency": "EUR",
            "date_from": "2099-06-01T18:00:00Z",
            "timezone": "Europe/Berlin",
            "location": {"en": "Town Hall"},
            "plugins": ["pretix.plugins.manualpayment"],
        }
        ask("POST", "", event, 201)
        product = {"name": {"en": "Unlimited"}, "default_price": "25.00", "tax_rule": None}
        item = ask("POST", "hot-night/items/", product, 201)["id"]
        quota = {"name": "All", "size": None, "items": [item], "variations": []}
        ask("POST", "hot-night/quotas/", quota, 201)
        ask("PATCH", "hot-night/", {"live": True}, 200)
        return int(item)

    def _run(self, *arguments: str) -> str:
        """Run its Python, and return the output. StackFailed."""
        done = subprocess.run(
            [self._python, *arguments],
            cwd=self._root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = done.stderr.strip().rpartition("\n")[2]
            raise StackFailed(f"pretix, {' '.join(arguments[:3])}: {last}")
        return done.stdout


def start(database_url: str, running: ExitStack) -> tuple[Pretix, Redis, Shop]:
    """Start pretix on an empty database, with a shop. It ends with `running`. StackFailed."""
    redis = running.enter_context(Redis())
    pretix = running.enter_context(Pretix(database_url, redis, new_folder(running)))
    return pretix, redis, pretix.open_shop()

"""A self-hoster follows docs/operations.md on a bare Debian with a real systemd, as printed."""

import json
import re
import subprocess

import pytest

from tests.cli.test_documents import commands
from tests.support.databases import only_once
from tests.support.debian import Host
from tests.support.remote import eventually
from ticketing.version import VERSION
from tools import anvil
from tools.stack import ROOT

pytestmark = [pytest.mark.long, only_once]

NEXT = "99.0.0"
WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TRUST = """
for each in $(seq 100); do [ -f $ROOT_CA ] && break; sleep 0.2; done
cp $ROOT_CA /usr/local/share/ca-certificates/caddy.crt && update-ca-certificates >/dev/null 2>&1
for each in $(seq 100); do curl -sf https://localhost/readyz >/dev/null && break; sleep 0.2; done
"""
AUTHORITY = "ROOT_CA=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt"
ENCRYPTED = r"""
age-keygen -o key.txt 2>/dev/null
echo "BACKUP_RECIPIENT=$(age-keygen -y key.txt)" >>/etc/ticketing/env
systemctl start ticketing-backup
age --decrypt --identity key.txt --output plain /var/backups/ticketing/*.age
head -c 15 plain
"""


@pytest.fixture
def host(debian_root):
    with Host(debian_root) as running:
        yield running


def releases(root):
    """Put this commit into the Debian as a repository with two releases. Return its URL."""
    copy = root / "repository"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)

    def git(*arguments):
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=copy, check=True)

    git("tag", f"v{VERSION}")
    file = copy / "ticketing" / "version.py"
    file.write_text(file.read_text().replace(VERSION, NEXT))
    git("commit", "-q", "-a", "-m", "The next release")
    git("tag", f"v{NEXT}")
    return "/repository"


def steps(text):
    """Return each command of a document: lines that belong together are one."""
    found, open_until, depth = [], None, 0
    for line in text.splitlines():
        if found and (open_until or depth > 0):
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
        else:
            continue
        if open_until is None and (here := re.search(r"<<(\w+)$", line)):
            open_until = here[1]
        elif line == open_until:
            open_until = None
        if open_until is None:
            depth = found[-1].count("$(") + found[-1].count("'") % 2 - found[-1].count(")")
    return found


@pytest.mark.packages("systemd", "systemd-sysv", "dbus", "udev")
def test_from_nothing_to_a_sale_a_lost_disk_and_the_next_release(host, debian_root, node):
    url = releases(debian_root)
    text = commands("docs/operations.md", "## On a bare host", "## Monitoring")
    first, setting, *others = steps(text)
    assert first.startswith("DOMAIN=") and setting.startswith("REPOSITORY=")
    assert len(others) <= 15, [each.partition("\n")[0] for each in others]
    port = node.url.rpartition(":")[2]
    known = f"DOMAIN=localhost CHAIN=31337 RPC=http://127.0.0.1:{port} WALLET={WALLET}\n"
    known += f"REPOSITORY={url} RELEASE=v{VERSION}\n{AUTHORITY}\n"

    last = next(place for place, each in enumerate(others) if "tenants create" in each)
    installing, tenant, selling = others[:last], others[last], others[last + 1 :]
    host.run(known + "\n".join(installing) + TRUST)
    told = host.run(f"{known}cd /srv/ticketing\n{tenant}")
    key = re.search(r"ticketing_\S+", told)[0]
    assert "https://localhost/console/invitation/" in told

    sale = "\n".join(selling).replace("KEY=ticketing_...", f"KEY={key}")
    order = json.loads(host.run(f"{known}cd /srv/ticketing\n{sale}"))
    anvil.transfer(node.rpc, order["token_address"], order["address"], order["atomic_amount"])

    def state():
        path = f"/v1/checkout/tenants/acme/intents/{order['id']}"
        said = host.run(
            f"curl -sf https://localhost{path} -H 'Authorization: Bearer {order['client_secret']}'"
        )
        return json.loads(said)["status"]

    node.rpc("anvil_mine", "0x20")
    eventually(lambda: state() == "confirmed")
    assert sandboxed(host)

    # A backup, a lost disk, a restore.
    backing_up = commands("docs/operations.md", "**On a bare host.**", "**Recovery files.**")
    host.run(backing_up)
    assert host.run(ENCRYPTED) == "SQLite format 3"
    host.run("systemctl kill -s KILL ticketing-web ticketing-worker; rm -rf /var/lib/ticketing/*")
    restoring = commands("docs/operations.md", "On a bare host with SQLite:", "What happened after")
    host.run(f"cd /srv/ticketing\n{restoring}")
    eventually(lambda: state() == "confirmed")

    # The next release.
    upgrading = commands("docs/upgrading.md", "## On a bare host", "The web server")
    host.run(upgrading.replace(f"RELEASE=v{VERSION}", f"RELEASE=v{NEXT}"))
    ready = json.loads(host.run("curl -sf https://localhost/readyz"))
    assert (ready["status"], ready["version"]) == ("ready", NEXT)
    assert state() == "confirmed"
    assert "the books are right" in host.run("/srv/ticketing/deploy/ticketing reconcile")
    assert host.run("systemctl --failed --no-legend") == ""


def sandboxed(host):
    """Whether the processes have no rights, and no system call was refused."""
    for unit in ("ticketing-web", "ticketing-worker"):
        pid = host.run(f"systemctl show -P MainPID {unit}").strip()
        status = host.run(f"cat /proc/{pid}/status")
        assert re.search(r"^CapBnd:\s+0+$", status, re.MULTILINE)
        assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE)
        assert host.run(f"systemctl show -P NRestarts {unit}").strip() == "0"
    return True

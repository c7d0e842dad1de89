"""docs/notifications.md is complete, and its examples verify what the service signs."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from ticketing.notification_types import NotificationType
from tools import installer
from tools.stack import ROOT

TEXT = (ROOT / "docs" / "notifications.md").read_text()
SECRET = "whsec_" + "c2VjcmV0" * 5
BODY = b'{"type":"intent.confirmed","timestamp":"2026-01-01T00:00:00Z","data":{"sequence":3}}'


def example(language):
    """Return the only code block of a language."""
    (code,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return code


def headers(secret=SECRET, at=None):
    at = at or datetime.now(UTC)
    return {
        "webhook-id": "ntf_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("ntf_1", at, BODY.decode()),
    }


def both():
    """Return headers as during a rotation: a signature of another secret comes first."""
    other, own = headers("whsec_" + "b3RoZXI="), headers()
    return {
        **own,
        "webhook-signature": " ".join(each["webhook-signature"] for each in (other, own)),
    }


def test_every_type_is_in_the_table_once():
    rows = re.findall(r"^\| (`[a-z_]+\..*?) \|", TEXT, re.MULTILINE)
    named = [name.strip("`") for row in rows for name in row.split(", ")]
    assert sorted(named) == sorted(NotificationType)


@pytest.mark.parametrize("sent", [headers, both])
def test_the_python_example_verifies_a_webhook(sent):
    names = {}
    exec(example("python"), names)
    assert names["receive"](BODY, sent(), SECRET) == json.loads(BODY)
    for wrong in (headers("whsec_" + "b3RoZXI="), headers(at=datetime.now(UTC) - timedelta(1)), {}):
        with pytest.raises(WebhookVerificationError):
            names["receive"](BODY, wrong, SECRET)
    with pytest.raises(WebhookVerificationError):
        names["receive"](BODY + b" ", sent(), SECRET)


def test_the_node_example_does_the_same(starts_processes):
    old = headers(at=datetime.now(UTC) - timedelta(1))
    cases = [headers(), both(), headers("whsec_" + "b3RoZXI="), old]
    code = example("javascript") + (
        f"for (const headers of {json.dumps(cases)}) {{"
        f"  const body = Buffer.from({BODY.decode()!r});"
        f"  try {{ console.log(receive(body, headers, '{SECRET}').type) }}"
        "  catch (error) { console.log(error.message) }"
        "}"
    )
    done = subprocess.run(
        [*installer.node(), "-e", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:-1] == ["intent.confirmed"] * 2 + ["not genuine"] * 2


def test_it_is_short_and_found_from_the_readme():
    assert len(TEXT.splitlines()) < 150
    assert "(docs/notifications.md)" in (ROOT / "README.md").read_text()

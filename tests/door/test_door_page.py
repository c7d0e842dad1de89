"""docs/door.md: its worked example and its code are right."""

import json
import re
from pathlib import Path

import pytest

from tests.support.doors import Door
from ticketing import ids
from ticketing.services.door import base45, ticket_signing

PAGE = (Path(__file__).parents[2] / "docs" / "door.md").read_text()
EXAMPLE = dict(re.findall(r"^\| ([^|]+?) \| `([^`]+)` \|$", PAGE, re.MULTILINE))


@pytest.fixture
def read_qr():
    """The function of the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(code, names)
    return names["read_qr"]


@pytest.fixture
def keys():
    return [{"kid": EXAMPLE["key number"], "x": EXAMPLE["public key (`x`, base64url)"]}]


def test_the_example_is_right_byte_for_byte():
    data = base45.decode(EXAMPLE["text"].removeprefix("T1:"))
    assert data[:2] == bytes([1, int(EXAMPLE["key number"])])
    both = re.findall(r"\| its bytes \| `([0-9a-f]+)` \|", PAGE)
    assert data[2:34].hex() == "".join(both)
    assert data[34:36] == int(EXAMPLE["generation"]).to_bytes(2, "big")
    halves = [EXAMPLE["signature, bytes 0 to 31"], EXAMPLE["signature, bytes 32 to 63"]]
    assert data[36:].hex() == "".join(halves) and len(data) == 100
    assert ids.to_bytes(EXAMPLE["admission"]).hex() == both[0]
    assert ids.to_bytes(EXAMPLE["event"]).hex() == both[1]
    assert "T1:" + base45.encode(data) == EXAMPLE["text"]


def test_the_code_of_the_page_reads_the_example(read_qr, keys):
    expected = {"admission_id": EXAMPLE["admission"], "event_id": EXAMPLE["event"]}
    assert read_qr(EXAMPLE["text"], keys) == {**expected, "generation": 1}
    for text in (EXAMPLE["text"][:-1] + "P", EXAMPLE["text"].lower(), "T1:", ""):
        with pytest.raises(ValueError):
            read_qr(text, keys)


def test_the_service_reads_the_example_as_the_page_says():
    ticket = ticket_signing.read(EXAMPLE["text"])
    assert (ticket.admission_id, ticket.event_id) == (EXAMPLE["admission"], EXAMPLE["event"])
    assert (ticket.key_number, ticket.generation) == (1, 1)


def test_the_code_of_the_page_reads_what_the_service_makes(read_qr, acme, api):
    door = Door(acme)
    admission = door.admission()
    published = api.get(f"{acme.public}/ticket-keys").json["keys"]
    assert read_qr(door.qr(admission), published) == {
        "admission_id": admission.id,
        "event_id": door.event["id"],
        "generation": 1,
    }


def test_every_outcome_is_explained(api):
    schemas = json.loads(api.get("/openapi.json").text)["components"]["schemas"]
    for outcome in schemas["ScanResult"]["properties"]["outcome"]["enum"]:
        assert f"`{outcome}`" in PAGE

"""The signed text of a QR code, and the keys that check it."""

import base64
import threading

import pytest
from Crypto.Signature import eddsa

from tests.conftest import SECRET_KEY
from ticketing import ids
from ticketing.credentials import Keyring
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.models.door import TicketKey
from ticketing.services.door import base45, ticket_signing

KEYRING = Keyring(SECRET_KEY)
NEWER = Keyring("another-secret-key-0123456789abcdefghijklmnopqrst", SECRET_KEY)


@pytest.fixture
def admission(acme):
    buyer = acme.buyer(acme.ticket(price_amount=0))
    assert buyer.purchase().status_code == 200
    return Admission.get()


def keys(api, organizer):
    answer = api.get(f"{organizer.public}/ticket-keys")
    assert answer.status_code == 200
    return answer.json["keys"]


def test_the_text_fits_a_small_qr_code_and_carries_no_code(admission):
    text = ticket_signing.qrs_of([admission], KEYRING)[0]
    assert len(text) == 153 and text.startswith("T1:")
    assert set(text) <= set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")
    assert admission.code.upper() not in text


def test_anybody_can_check_it_with_the_published_key(api, acme, admission):
    data = base45.decode(ticket_signing.qrs_of([admission], KEYRING)[0][3:])
    (key,) = keys(api, acme)
    assert (key["kty"], key["crv"], key["kid"], key["newest"]) == ("OKP", "Ed25519", "1", True)
    public = eddsa.import_public_key(base64.urlsafe_b64decode(key["x"] + "="))
    eddsa.new(public, "rfc8032").verify(b"T1:" + data[:36], data[36:])
    assert data[0] == 1 and data[1] == 1
    assert data[2:18] == ids.to_bytes(admission.id)
    assert data[18:34] == ids.to_bytes(admission.event_id)
    assert int.from_bytes(data[34:36], "big") == 1


def test_it_is_made_once_for_each_generation(admission):
    first = ticket_signing.qrs_of([admission], KEYRING)[0]
    assert ticket_signing.qrs_of([Admission.get()], KEYRING)[0] == first == Admission.get().qr
    Admission.update(generation=2, qr=None).execute()
    # What a request still has in memory is not stored over the newer generation.
    admission.qr = None
    assert ticket_signing.qrs_of([admission], KEYRING)[0] == first
    assert Admission.get().qr is None
    second = ticket_signing.qrs_of([Admission.get()], KEYRING)[0]
    assert second != first and Admission.get().qr == second


def test_a_changed_secret_key_gets_a_new_number_and_old_texts_stay_good(api, acme, admission):
    old = ticket_signing.qrs_of([admission], KEYRING)[0]
    Admission.update(generation=2, qr=None).execute()
    new = ticket_signing.qrs_of([Admission.get()], NEWER)[0]
    # This application still has the SECRET_KEY of before: it signs with number 1.
    published = keys(api, acme)
    assert [(key["kid"], key["newest"]) for key in published] == [("2", False), ("1", True)]
    newest = ticket_signing.jwks(ticket_signing.keys_of(acme.id, NEWER))
    assert [(key["kid"], key["newest"]) for key in newest] == [("1", False), ("2", True)]
    stored = ticket_signing.keys_of(acme.id, KEYRING)
    for text, number in ((old, 1), (new, 2)):
        ticket = ticket_signing.read(text)
        assert ticket.key_number == number and ticket_signing.is_genuine(ticket, stored)
    # Back to the key of before: its number is the one that it had.
    assert len(ticket_signing.keys_of(acme.id, Keyring(SECRET_KEY))) == 2


def test_two_tenants_have_different_keys(api, acme, neighbour, admission):
    assert keys(api, acme)[0]["x"] != keys(api, neighbour)[0]["x"]
    ticket = ticket_signing.read(ticket_signing.qrs_of([admission], KEYRING)[0])
    assert not ticket_signing.is_genuine(ticket, ticket_signing.keys_of(neighbour.id, KEYRING))


@pytest.mark.exhaustive
def test_a_changed_text_is_not_genuine(admission, acme):
    text = ticket_signing.qrs_of([admission], KEYRING)[0]
    stored = ticket_signing.keys_of(acme.id, KEYRING)
    data = base45.decode(text[3:])
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        ticket = ticket_signing.read("T1:" + base45.encode(changed))
        assert ticket is None or not ticket_signing.is_genuine(ticket, stored), place
    for broken in ("", "T1:", text[:-1], text + "0", text.lower(), text[3:], "T2:" + text[3:]):
        assert ticket_signing.read(broken) is None
    assert ticket_signing.read("T1:" + "Z" * 10_000) is None


def test_threads_that_need_the_first_key_at_once_make_one(app, acme):
    together, found = threading.Barrier(6), []

    def ask(keyring):
        together.wait()
        found.append([key.number for key in ticket_signing.keys_of(acme.id, keyring)])
        database.close()

    threads = [threading.Thread(target=ask, args=(keyring,)) for keyring in (KEYRING, NEWER) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert sorted(key.number for key in TicketKey.select()) == [1, 2]
    assert len({key.secret_key_id for key in TicketKey.select()}) == 2


def test_the_key_set_is_cached_by_its_tag(api, acme):
    first = api.get(f"{acme.public}/ticket-keys")
    tag = {"If-None-Match": first.headers["ETag"]}
    assert first.headers["Cache-Control"] == "public, max-age=0, must-revalidate"
    assert api.get(f"{acme.public}/ticket-keys", headers=tag).status_code == 304
    ticket_signing.keys_of(acme.id, NEWER)
    again = api.get(f"{acme.public}/ticket-keys", headers=tag)
    assert again.status_code == 200 and len(again.json["keys"]) == 2
    assert api.get("/v1/public/tenants/nobody/ticket-keys").status_code == 404

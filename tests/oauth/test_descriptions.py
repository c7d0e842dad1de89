"""The worker reads what apps say of themselves: no page waits for a server of a stranger."""

import threading

import pytest

from tests.support.console import sign_in
from tests.support.oauth import App
from tests.support.remote import eventually
from tests.support.tarpit import Tarpit
from ticketing.db.connection import database
from ticketing.models.app_descriptions import AppDescription
from ticketing.services.oauth import descriptions
from ticketing.worker import description_reader

MEMBERS = 16


@pytest.fixture
def tarpit():
    with Tarpit() as server:
        yield server


def look(app, console):
    """Open the page of an app, and let no worker read for it."""
    return console.client.get("/console/connect", query_string=app.asks())


def read_some(acme):
    """Do what the worker does, in a thread of its own."""
    try:
        description_reader.read_some(acme.app.extensions["ticketing"])
    finally:
        database.close()


def test_members_who_open_apps_that_say_nothing_keep_no_thread(
    acme, neighbour, client, tarpit, monkeypatch
):
    # On a slow machine, too, the worker still waits while the pages are looked at.
    monkeypatch.setattr(descriptions, "DEADLINE_SECONDS", 50.0)
    monkeypatch.setattr(descriptions, "DESCRIPTION_SECONDS", 100)
    consoles = [sign_in(acme, "read", f"m{n}@example.org") for n in range(MEMBERS)]
    apps = [App(client, tarpit.url(f"/{n}.json")) for n in range(MEMBERS)]
    pages = [look(app, console) for app, console in zip(apps, consoles, strict=True)]
    assert tarpit.held == 0
    # Each may take 5 s of the worker's time, and the tenant has 10 s an hour.
    assert [each.status_code for each in pages] == [202] * 2 + [429] * (MEMBERS - 2)
    assert '<meta http-equiv="refresh" content="2">' in pages[0].text
    assert "opened too many apps that answer slowly" in pages[-1].text
    worker = threading.Thread(target=read_some, args=(acme,))
    worker.start()
    eventually(lambda: tarpit.held == 2)
    for app, console in zip(apps, consoles, strict=True):
        assert look(app, console).status_code in (202, 429)
    other = sign_in(neighbour, "read", "other@example.org")
    assert other.get("/console/events").status_code == 200
    assert client.get(f"{neighbour.public}/events").status_code == 200
    assert tarpit.held == 2 and worker.is_alive()
    tarpit.release()
    worker.join()
    assert "cannot be read" in look(apps[0], consoles[0]).text


def test_all_members_share_one_reading(acme, neighbour, documents, client):
    app = App(client, documents.describe())
    consoles = [sign_in(acme, "read", f"m{n}@example.org") for n in range(3)]
    consoles.append(sign_in(neighbour, "read", "other@example.org"))
    assert {look(app, console).status_code for console in consoles} == {202}
    read_some(acme)
    assert {look(app, console).status_code for console in consoles} == {200}
    assert documents.asked == ["/app.json"]


@pytest.mark.one_database
def test_what_came_is_known_for_ten_minutes_and_what_did_not_come_too(
    acme, documents, client, stopped
):
    console = sign_in(acme)
    good, bad = App(client, documents.describe()), App(client, documents.url("/none.json"))
    for _ in range(3):
        assert good.page(console).status_code == 200
        assert bad.page(console).status_code == 400
        assert sorted(documents.asked) == ["/app.json", "/none.json"]
        stopped.forward(minutes=3)
    descriptions.forget_old()
    assert AppDescription.select().where(AppDescription.document.is_null(False)).count() == 1
    stopped.forward(minutes=2)
    descriptions.forget_old()
    assert AppDescription.select().where(AppDescription.document.is_null(False)).count() == 0
    assert [each.page(console).status_code for each in (good, bad)] == [200, 400]
    assert len(documents.asked) == 4
    stopped.forward(days=1, seconds=1)
    descriptions.forget_old()
    assert AppDescription.select().count() == 0


@pytest.mark.one_database
def test_a_page_asks_again_more_and_more_rarely_and_not_for_ever(acme, client, tarpit, stopped):
    """Without a worker, nobody reads. The member is told so after a minute."""
    app, console = App(client, tarpit.url("/app.json")), sign_in(acme)
    pauses = []
    while (page := look(app, console)).status_code == 202:
        pauses.append(int(page.text.partition('refresh" content="')[2].partition('"')[0]))
        stopped.forward(seconds=pauses[-1])
    assert pauses == [2, 2, 4, 8, 16, 32]
    assert page.status_code == 400 and "was not read" in page.text
    read_some(acme)
    assert tarpit.held == 0
    stopped.forward(minutes=1)
    assert look(app, console).status_code == 202


@pytest.mark.one_database
def test_an_hour_has_ten_seconds_for_a_tenant(acme, neighbour, documents, client, stopped):
    """Each of these takes at least a tenth of a second, and one needs 5 s to begin."""
    console = sign_in(acme)
    for number in range(51):
        stopped.forward(seconds=10)  # ten a minute are counted for the member
        page = App(client, documents.url(f"/{number}.json")).page(console)
        assert page.status_code == 400 and "cannot be read" in page.text
    refused = look(App(client, documents.url("/one-more.json")), console)
    assert refused.status_code == 429
    of_others = look(
        App(client, documents.url("/theirs.json")), sign_in(neighbour, "read", "b@b.org")
    )
    assert of_others.status_code == 202
    stopped.forward(seconds=int(refused.headers["Retry-After"]))
    assert look(App(client, documents.url("/one-more.json")), console).status_code == 202

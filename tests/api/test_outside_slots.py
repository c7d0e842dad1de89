"""At most half of a process' threads wait for somebody else, whatever each of them waits for."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.support.photos import photo
from tests.support.remote import eventually
from ticketing.constants import LOOKS_AT_ONCE
from ticketing.db.connection import database
from ticketing.errors import ImagesBusy, NodesBusy
from ticketing.services import image_files, node_slots, outside_slots

pytestmark = pytest.mark.one_database


@pytest.fixture
def put_logo(acme):
    """Upload a logo, in a thread of its own."""
    admin, content = acme.api(), photo(200, 200, "PNG")

    def put_logo():
        try:
            client = acme.app.test_client()
            headers = {"Content-Type": "image/png", **(admin.headers or {})}
            return client.put(f"{acme.path}/logo", data=content, headers=headers)
        finally:
            database.close()

    return put_logo


def is_free(name):
    try:
        with outside_slots.slot({name}, NodesBusy):
            return True
    except NodesBusy:
        return False


def test_an_upload_that_waits_for_another_one_takes_one_of_the_slots(put_logo):
    with ThreadPoolExecutor(1) as pool:
        with image_files.one_at_a_time():
            waiting = pool.submit(put_logo)
            eventually(lambda: not is_free("pictures"))
            # No third one waits, and one slot is left for nodes.
            refused = put_logo()
            assert (refused.status_code, refused.json["code"]) == (503, "images_busy")
            assert refused.headers["Retry-After"]
            with ExitStack() as nodes:
                for number in range(LOOKS_AT_ONCE - 1):
                    nodes.enter_context(node_slots.slot(f"order {number}"))
                assert not is_free("anything")
        assert waiting.result().status_code == 200
    assert is_free("pictures") and is_free("anything")


def test_while_all_slots_are_taken_an_upload_that_need_not_wait_is_read(put_logo):
    with ExitStack() as nodes:
        for number in range(LOOKS_AT_ONCE):
            nodes.enter_context(node_slots.slot(f"order {number}"))
        assert put_logo().status_code == 200
        with image_files.one_at_a_time():
            assert put_logo().json["code"] == "images_busy"


def test_a_name_waits_once_and_a_slot_is_free_after_an_error():
    with outside_slots.slot({"a", "b"}, ImagesBusy):
        for name in "ab":
            with pytest.raises(ImagesBusy), outside_slots.slot({name, "c"}, ImagesBusy):
                pass
        assert is_free("c")
    with pytest.raises(KeyError), outside_slots.slot({"a"}, ImagesBusy):
        raise KeyError
    assert is_free("a")

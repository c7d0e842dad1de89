"""The scanner with a camera: it reads one code after another."""

import pytest
from playwright.sync_api import expect

from tests.support.databases import only_once
from tests.support.fake_camera import write_video
from tests.support.remote import eventually
from tests.support.scanner import forged

pytestmark = only_once

RECORD = """
globalThis.decisions = [];
addEventListener("DOMContentLoaded", () => {
    const outcome = document.getElementById("outcome");
    const note = () => decisions.push(outcome.dataset.decision);
    new MutationObserver(note).observe(outcome, {attributeFilter: ["data-decision"]});
});
"""

DETECTOR = """
globalThis.BarcodeDetector = class {
    static async getSupportedFormats() { return ["qr_code"]; }
    async detect() { return globalThis.seen ? [{rawValue: globalThis.seen}] : []; }
};
"""

STOPPED = "performance.now = () => 0;"
"""Its clock stands still, so each code is ignored from its second reading on."""


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return tmp_path_factory.mktemp("camera") / "video.y4m"


@pytest.fixture(scope="module")
def chromium_arguments(video):
    return [f"--use-file-for-fake-video-capture={video}"]


def decisions(phone):
    """Return what was decided, without the pauses in between."""
    found = phone.page.evaluate("decisions")
    return [each for each in found if each != "ready"]


def test_it_reads_on_after_every_outcome(visit, doors, video):
    first, second = (each["qr"] for each in doors.tickets(2))
    write_video(video, [None, first, forged(first), second, "https://example.org/", None])
    phone = doors.phone(visit, script=RECORD)
    # The video repeats. What was admitted is refused the second time.
    eventually(lambda: {"forged", "not_a_ticket", "twice"} <= set(decisions(phone)))
    eventually(lambda: decisions(phone).count("admitted") == 2)
    eventually(lambda: doors.stats()["inside"] == 2)


def test_a_code_that_stays_in_the_picture_is_read_once(visit, doors, video):
    (ticket,) = doors.tickets()
    write_video(video, [ticket["qr"]])
    phone = doors.phone(visit, script=RECORD + STOPPED)
    phone.expect("admitted")
    expect(phone.page.locator("#scanning")).to_have_attribute("data-kind", "neutral")
    assert decisions(phone) == ["admitted"]


def test_the_browsers_own_detector_is_used_where_there_is_one(visit, doors, video):
    (ticket,) = doors.tickets()
    write_video(video, [None])
    phone = doors.phone(visit, script=DETECTOR + STOPPED)
    phone.page.evaluate("text => { seen = text }", ticket["qr"])
    phone.expect("admitted")
    assert not [worker for worker in phone.page.workers if "reader.js" in worker.url]


def test_without_a_camera_codes_can_be_typed(visit, doors):
    script = "if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = async () => {\n"
    script += "throw new DOMException('no', 'NotAllowedError'); };"
    (ticket,) = doors.tickets()
    phone = doors.phone(visit, script=script)
    phone.page.get_by_text("The camera is blocked.").wait_for()
    phone.check(ticket["code"], "admitted")

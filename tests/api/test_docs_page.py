"""The page that shows the OpenAPI document. It loads nothing from other hosts."""

import re

import pytest

pytestmark = pytest.mark.one_database


def test_the_page_that_shows_it_loads_nothing_from_elsewhere(api):
    with api.get("/docs") as page:
        assert page.status_code == 200 and page.mimetype == "text/html"
        text = page.text
    policy = page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "same-origin"
    directives = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'" and directives["base-uri"] == "'none'"
    assert not re.search(r"https?:|[*]|unsafe-eval", policy)

    loaded = re.findall(r"(?:src|href)=[\"']?([^\"'\s>]+)", text)
    files = [path for path in loaded if not path.startswith("data:")]
    assert files and all(re.match(r"/(?!/)", path) for path in files)
    for path in files:
        with api.get(path) as answer:
            assert answer.status_code == 200 and len(answer.data) > 0, path
    assert not re.search(r"<script[^>]*>\s*[^<\s]|\son\w+=|https?://", text)

"""Descriptions: what of Markdown is known, and that nothing else comes through."""

import re
import time

import pytest

from ticketing import markdown

LENGTH = 10_000
"""The longest description."""

SECONDS = 2.0
"""Much more than the 0.1 s that the slowest needs: other tests run beside this one."""


def html(text):
    """Return the HTML without the isolation of directions."""
    return re.sub("</?bdi>", "", markdown.html(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bring a *coat*.", "<p>Bring a <em>coat</em>.</p>"),
        ("**New** songs", "<p><strong>New</strong> songs</p>"),
        ("# One\n## Two", "<h2>One</h2><h3>Two</h3>"),
        ("###### Six", "<h6>Six</h6>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> said", "<blockquote><p>said</p></blockquote>"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        (
            "[the *programme*](https://example.org/a?b=1&c=2)",
            '<p><a href="https://example.org/a?b=1&amp;c=2" rel="nofollow noopener ugc">the'
            " <em>programme</em></a></p>",
        ),
        (
            "[write](mailto:a@example.org)",
            '<p><a href="mailto:a@example.org" rel="nofollow noopener ugc">write</a></p>',
        ),
        (
            "See (https://example.org/a_b_c*d).",
            '<p>See (<a href="https://example.org/a_b_c*d" rel="nofollow noopener ugc">'
            "https://example.org/a_b_c*d</a>).</p>",
        ),
    ],
)
def test_these_parts_are_known(text, shown):
    assert html(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("19:00  Doors\n20:00  Songs", "<p>19:00  Doors<br>20:00  Songs</p>"),
        (
            "Doors\n\n    19:00 Doors\n    20:00 Songs",
            "<p>Doors</p><p>19:00 Doors<br>20:00 Songs</p>",
        ),
        ("\tindented", "<p>indented</p>"),
        ("`code` and ```", "<p>`code` and ```</p>"),
        ("```\nfence\n```", "<p>```<br>fence<br>```</p>"),
        ("1 < 2 && 3 > 2 &amp; &lt;", "<p>1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;amp; &amp;lt;</p>"),
        ("#techno +49 40 123 -5 C", "<p>#techno +49 40 123 -5 C</p>"),
        ("snake_case_name 2*3*4", "<p>snake_case_name 2<em>3</em>4</p>"),
        ("[a]: https://example.org", None),
        ("a | b\n--|--\n1 | 2", "<p>a | b<br>--|--<br>1 | 2</p>"),
    ],
)
def test_what_people_typed_before_looks_as_it_did(text, shown):
    if shown is None:
        assert 'href="https://example.org"' in html(text)
    else:
        assert html(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,a)",
        "[x](//example.org)",
        "[x](/console)",
        "[x](vbscript:a)",
        "[x]( javascript:alert(1))",
        "![x](https://example.org/a.png)",
        "<https:javascript>",
        "<a href='https://example.org'>",
    ],
)
def test_these_are_text(text):
    shown = html(text)
    assert not re.search(r"<(?!/?p>)(?!a href=\"https?://)(?!/a>)", shown), shown
    assert "<img" not in shown and "<script" not in shown
    assert not re.search(r"href=\"(?!https?://|mailto:)", shown)


@pytest.mark.parametrize("text", ['[x](https://a.b/"onclick="y)', 'https://a.b/"onclick="y'])
def test_nobody_breaks_out_of_an_attribute(text):
    for attributes in re.findall(r"<a ([^>]*)>", html(text)):
        assert re.fullmatch(r'href="[^"]*" rel="nofollow noopener ugc"', attributes)


@pytest.mark.parametrize(
    "part",
    [
        *("*", "_", "**", "*a", "*a **b ", "a**b", "[", "![", "[a](", "![a](", "](", "[[]", "[](b"),
        *("\\", "`", "<", "&", ":", "://", "https://", "https://a ", "[a](https://b)", "h"),
        *("[a](https://b(c", "[a](https://b", "> ", "> > ", "- ", "1. ", "* - ", "- a\n  ", "# "),
        *("a\n", "\n", "a\n\n", " ", "\t", "---\n", ">\n- ", "\x00", "\u202e", "*_", "[a*", "é*"),
    ],
)
@pytest.mark.long
def test_ten_thousand_characters_take_little_time(part):
    text = (part * LENGTH)[:LENGTH]
    start = time.process_time()
    shown = markdown.html(text)
    markdown.plain(text)
    assert time.process_time() - start < SECONDS
    assert len(shown) < 100 * LENGTH


@pytest.mark.parametrize(
    "text", ["> " * 1000 + "x", "- " * 1000 + "x", "*" * 1000 + "x" + "*" * 1000]
)
def test_what_is_nested_deep_ends(text):
    shown = markdown.html(text)
    for tag in ("blockquote", "ul", "li", "em", "strong", "p"):
        assert shown.count(f"<{tag}>") == shown.count(f"</{tag}>")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Bring a coat.\n\nMore: https://example.org/a.", None),
        ("a\nb\n\nc", None),
        ("# Who\n\n- **A**\n- B\n\n1. x\n2. y", "Who\n\n- A\n- B\n\n1. x\n2. y"),
        ("[programme](https://example.org)", "programme (https://example.org)"),
        ("[https://example.org](https://example.org)", "https://example.org"),
        ("[a@b.c](mailto:a@b.c)", "a@b.c"),
        ("> said\n\n---\n\n![i](https://a.b)", "said\n\n![i](https://a.b)"),
    ],
)
def test_calendars_and_search_engines_get_plain_text(text, plain):
    assert markdown.plain(text) == (text if plain is None else plain)

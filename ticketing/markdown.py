"""Descriptions that organizers write: Markdown (CommonMark) of which few parts are known.

Paragraphs, emphasis, lists, headings, quotes, rules, and links. All else is text, also HTML,
images and code: so a text of somebody who knows no Markdown looks as it was typed. A line break
stays one, a bare URL becomes a link, and indented text is text.

A text takes at most DESCRIPTION_STEPS, each of some microseconds. Example: 10,000 characters of the
documents of this service take 400 to 600, and "- a thing" in 1,000 lines takes 4,000.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from ticketing.limits import DESCRIPTION_STEPS

_RULES = [
    *("blockquote", "heading", "hr", "list"),
    *("balance_pairs", "emphasis", "escape", "newline"),
]
_NESTING = 20
"""Levels of lists and quotes. What is nested deeper is left out."""

_KEPT = 64
"""Descriptions of which a process keeps the HTML: a page is rendered again when few are left."""

# The parser's own rules for text and links take quadratic time, or a rule for each sign.
_TEXT = re.compile(r"(?:[^\n*_\[!\\:]|!(?!\[)|:(?!//))+")
_LINKED = re.compile(
    r"\[([^\[\]\n]{1,300})\]"
    r"\(((?:https?://|mailto:)[^\s()<>]{1,1000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,3})\)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?$", re.IGNORECASE)
_REST_OF_URL = re.compile(r"://[^\s<>\"]{1,2000}")
_AFTER_URL = ".,;:!?)]'*_"
"""What ends a sentence or an emphasis, not a URL."""

_LINK = Markup('<a href="{}" rel="nofollow noopener ugc">')


class TooComplex(ValueError):
    """A text takes more than DESCRIPTION_STEPS."""


@dataclass(frozen=True)
class Converted:
    """A description as HTML, whose highest headings are h2, because the page has the h1; and as
    text for calendars and search engines, in which a text without Markdown stays as it is.
    """

    html: Markup
    plain: str


def convert(text: str) -> Converted:
    """Convert a description. TooComplex."""
    tokens = _PARSER.parse(text, {_STEPS: 0})
    lines = "".join(_plain(tokens)).splitlines()
    plain = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return Converted(Markup("").join(_html(tokens)), plain)


@lru_cache(_KEPT)
def shown(text: str) -> Converted:
    """Convert a description. One that is too complex is shown as it was typed."""
    try:
        return convert(text)
    except TooComplex:
        lines = Markup("<br>").join(text.splitlines())
        return Converted(Markup("<p><bdi>{}</bdi></p>").format(lines), text)


def html(text: str) -> Markup:
    """Return a description as HTML. See `shown`."""
    return shown(text).html


def plain(text: str) -> str:
    """Return a description as text. See `shown`."""
    return shown(text).plain


_STEPS = "steps"
"""The name of the count in the environment that the parser passes to its rules."""


def _count(state: StateBlock | StateInline) -> None:
    state.env[_STEPS] += 1
    if state.env[_STEPS] > DESCRIPTION_STEPS:
        raise TooComplex


def _count_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Count that the parser looks what a line begins, or whether it ends what is before it."""
    _count(state)
    return False


def _text(state: StateInline, silent: bool) -> bool:
    """Take text up to the next sign that means something."""
    _count(state)
    found = _TEXT.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


def _link(state: StateInline, silent: bool) -> bool:
    """Make a link of `[label](url)`. What is in the label may be emphasized."""
    found = _LINKED.match(state.src, state.pos, state.posMax)
    if found is None or state.linkLevel:
        return False
    if not silent:
        end = state.posMax
        state.push("link_open", "a", 1).attrs = {"href": found[2]}
        state.pos, state.posMax = found.span(1)
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        state.posMax = end
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _image(state: StateInline, silent: bool) -> bool:
    """Leave an image as it was typed: `!` and a link are none."""
    is_image = state.src.startswith("![", state.pos)
    found = _LINKED.match(state.src, state.pos + 1, state.posMax) if is_image else None
    if found is None:
        return False
    if not silent:
        state.pending += f"!{found[0]}"
    state.pos = found.end()
    return True


def _bare_url(state: StateInline, silent: bool) -> bool:
    """Make a link of a URL with http or https, from its `://`: the scheme was read as text."""
    scheme = _SCHEME.search(state.pending, max(0, len(state.pending) - len("xhttps")))
    rest = _REST_OF_URL.match(state.src, state.pos, state.posMax)
    if state.linkLevel or scheme is None or rest is None:
        return False
    shown = (scheme[0] + rest[0]).rstrip(_AFTER_URL)
    length = len(shown) - len(scheme[0])
    if length <= len("://"):
        return False
    if not silent:
        state.pending = state.pending[: scheme.start()]
        state.push("link_open", "a", 1).attrs = {"href": shown}
        state.push("text", "", 0).content = shown
        state.push("link_close", "a", -1)
    state.pos += length
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"maxNesting": _NESTING}).enable(_RULES)
    inside = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("blockquote", "count", _count_block, {"alt": inside})
    parser.inline.ruler.at("text", _text)
    for name, rule in (("image", _image), ("link", _link)):
        parser.inline.ruler.at(name, rule)
        parser.enable(name)
    parser.inline.ruler.push("bare_url", _bare_url)
    return parser


_PARSER = _parser()

_TAGS = {"blockquote": "blockquote", "bullet_list": "ul", "list_item": "li", "paragraph": "p"}


def _html(tokens: Sequence[Token]) -> Iterator[Markup]:
    """Yield the HTML of blocks. What has no rule here cannot come out: tokens have no own HTML."""
    for token in tokens:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "inline":
            # What people wrote must not change the direction of what is around it.
            yield Markup("<bdi>{}</bdi>").format(Markup("").join(_inline(token.children or [])))
        elif token.type == "hr":
            yield Markup("<hr>")
        elif kind == "heading":
            level = min(int(token.tag[1]) + 1, 6)
            yield Markup(f"<h{level}>" if token.nesting > 0 else f"</h{level}>")
        elif kind == "ordered_list" and token.nesting > 0:
            yield Markup('<ol start="{}">').format(int(token.attrs.get("start", 1)))
        elif kind == "ordered_list":
            yield Markup("</ol>")
        elif not token.hidden:  # the paragraph of an item of a dense list is hidden
            tag = _TAGS[kind]
            yield Markup(f"<{tag}>" if token.nesting > 0 else f"</{tag}>")


def _inline(tokens: Sequence[Token]) -> Iterator[Markup]:
    for token in tokens:
        match token.type:
            case "text":
                yield escape(token.content)
            case "softbreak" | "hardbreak":
                yield Markup("<br>")
            case "link_open":
                yield _LINK.format(token.attrs["href"])
            case "link_close":
                yield Markup("</a>")
            case "em_open" | "em_close" | "strong_open" | "strong_close":
                yield Markup(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")


def _plain(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the text of blocks. A list has its marks, and each block but an item ends a line."""
    numbers: list[int | None] = []
    for token in tokens:
        match token.type:
            case "inline":
                yield "".join(_plain_inline(token.children or []))
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
                yield "\n"
            case "list_item_open":
                number = numbers[-1]
                yield "- " if number is None else f"{number}. "
                numbers[-1] = None if number is None else number + 1
            case "paragraph_close" | "heading_close":
                yield "\n" if token.hidden else "\n\n"
            case "hr":
                yield "\n"


def _plain_inline(tokens: Sequence[Token]) -> Iterator[str]:
    hrefs: list[str] = []
    label = ""
    for token in tokens:
        match token.type:
            case "text":
                label += token.content
                yield token.content
            case "softbreak" | "hardbreak":
                yield "\n"
            case "link_open":
                hrefs.append(str(token.attrs["href"]))
                label = ""
            case "link_close":
                href = hrefs.pop()
                if label not in (href, href.removeprefix("mailto:")):
                    yield f" ({href})"

"""Texts for programs that read the site: /llms.txt for agents, /robots.txt for search engines."""

from flask import Response

from ticketing.limits import CallClass
from ticketing.mcp import llms_txt
from ticketing.services.x402 import for_agents
from ticketing.web import auth, origin
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

HIDDEN = ("_l", "_m", "_p", "_r", "_w", "console", "door", "o", "t", "v1", "x")
"""The first words of paths that have secrets, or that nobody searches for."""

_PLAIN = "text/plain; charset=utf-8"

blp = ApiBlueprint(
    "texts",
    __name__,
    guard=auth.Open(CallClass.PUBLIC),
    description="Texts for agents and search engines.",
)


@blp.get("/llms.txt")
def read_llms_txt() -> Response:
    """Read how an agent buys a ticket here."""
    origin.check_host()
    ways_to_pay = for_agents.sections(origin.origin(), config())
    text = llms_txt.text(origin.origin(), ways_to_pay)
    return Response(text, content_type=_PLAIN)


@blp.get("/robots.txt")
def read_robots_txt() -> Response:
    """Read what search engines leave out (RFC 9309). A tenant's slug may begin with such a word."""
    rules = (f"Disallow: /{word}/\nDisallow: /{word}$\n" for word in HIDDEN)
    return Response(f"User-agent: *\n{''.join(rules)}", content_type=_PLAIN)

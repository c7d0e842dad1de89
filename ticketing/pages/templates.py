"""The environments of the templates: one for each language, with the messages in the templates.

Example: `{% trans name=event.title %}Tickets for {{ name }}{% endtrans %}` is loaded in German as
`Karten für {{ event.title }}`. To look up each message at each request took a third of an order's
page.
"""

from collections.abc import Iterable, Iterator, MutableMapping
from functools import cached_property
from typing import Any, NamedTuple

from flask.templating import Environment
from jinja2 import Template
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

_MARK = "\0"
"""Before and after the name of a variable in a message that is being loaded."""

_DEPTHS = {"lparen": 1, "lbracket": 1, "lbrace": 1, "rparen": -1, "rbracket": -1, "rbrace": -1}


class PageEnvironment(Environment):
    """The templates of pages. `speaking` returns those of a language."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._of_language: dict[str, PageEnvironment] = {}

    def speaking(self, locale: str) -> "PageEnvironment":
        """Return the templates of a language. Load and render them inside of locales.speaking."""
        found = self._of_language.get(locale)
        if found is None:
            found = self._of_language[locale] = self.overlay()
        return found

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return the global names of a template as one dict, which is faster than Jinja's chain.

        A template has those that the environment had when it was loaded.
        """
        return {**self.globals, **(d or {})}


class LoadedMessages(Extension):
    """Translates messages when a template is loaded, except those with a plural.

    `jinja2.ext.i18n`, which must be loaded too, translates the others when they are shown.
    """

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        """Replace each message by its translation."""
        tokens = _Tokens(list(stream))
        while not tokens.are_over:
            message = _message(tokens) or _call(tokens)
            if message is None:
                yield tokens.take()
            else:
                yield from self._translated(message)

    @cached_property
    def _gettext(self) -> Template:
        return self.environment.from_string("{{ gettext(text, **variables) }}")

    def _translated(self, message: "_Message") -> Iterator[Token]:
        """Yield the translation, with its variables in their places."""
        marked = {name: f"{_MARK}{name}{_MARK}" for name in message.variables}
        parts = self._gettext.render(text=message.text, variables=marked).split(_MARK)
        for place, part in enumerate(parts):
            if place % 2:
                yield Token(message.line, "variable_begin", "{{")
                yield from message.variables[part]
                yield Token(message.line, "variable_end", "}}")
            elif message.is_expression:
                yield Token(message.line, "string", part)
                yield Token(message.line, "pipe", "|")
                yield Token(message.line, "name", "safe")
            elif part:
                yield Token(message.line, "data", part)


class _Message(NamedTuple):
    """A message and the expressions of its variables, by name. `is_expression`: `_("Paid")`."""

    line: int
    text: str
    variables: dict[str, list[Token]]
    is_expression: bool = False


class _Tokens:
    """The tokens of a template. Those before `place` were taken."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self.place = tokens, 0

    @property
    def are_over(self) -> bool:
        """Whether all were taken."""
        return self.place >= len(self._tokens)

    def take(self) -> Token:
        """Take the next token."""
        self.place += 1
        return self._tokens[self.place - 1]

    def take_if(self, *wanted: str) -> list[Token] | None:
        """Take the next tokens if they are of these types, or are these names. Else none."""
        found = self._tokens[self.place : self.place + len(wanted)]
        if len(found) < len(wanted) or not all(map(_is, found, wanted)):
            return None
        self.place += len(wanted)
        return found


def _is(token: Token, wanted: str) -> bool:
    return token.type == wanted or (token.type == "name" and token.value == wanted)


def _call(tokens: _Tokens) -> _Message | None:
    """Take `_("Paid")`. None: something else is next."""
    found = tokens.take_if("_", "lparen", "string", "rparen")
    return None if found is None else _Message(found[0].lineno, found[2].value, {}, True)


def _message(tokens: _Tokens) -> _Message | None:
    """Take `{% trans %}` up to `{% endtrans %}`. None: something else is next, or has a plural."""
    begin = tokens.place
    found = tokens.take_if("block_begin", "trans")
    if found is None:
        return None
    variables = _variables(tokens)
    text = _text(tokens)
    if text is None or not text[1] <= variables.keys():
        tokens.place = begin
        return None
    return _Message(found[0].lineno, text[0], variables)


def _variables(tokens: _Tokens) -> dict[str, list[Token]]:
    """Take `amount=intent.amount|amount, network=view.network %}`."""
    variables: dict[str, list[Token]] = {}
    depth, value = 0, list[Token]()
    while not tokens.take_if("block_end"):
        named = None if depth else tokens.take_if("name", "assign")
        if named:
            value = variables[named[0].value] = []
            continue
        token = tokens.take()
        depth += _DEPTHS.get(token.type, 0)
        if depth or token.type != "comma":
            value.append(token)
    return variables


def _text(tokens: _Tokens) -> tuple[str, set[str]] | None:
    """Take `Pay {{ amount }}{% endtrans %}`. Return it as it is in the catalogs, and its variables.

    None: it has a plural.
    """
    text, names = "", set[str]()
    while not tokens.take_if("block_begin", "endtrans", "block_end"):
        if variable := tokens.take_if("variable_begin", "name", "variable_end"):
            names.add(variable[1].value)
            text += f"%({variable[1].value})s"
        elif data := tokens.take_if("data"):
            text += data[0].value.replace("%", "%%")
        else:
            return None
    lines = (line.strip() for line in text.split("\n"))
    return " ".join(line for line in lines if line), names

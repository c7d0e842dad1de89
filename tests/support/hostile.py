"""Hostile texts of a regular expression, made from the expression itself.

A hostile text is (start, middle, end): the middle repeats. It is slow if the expression can divide
the middles in many ways and the end, or the lack of one, refuses them all. For `^id-([a-z]+)*$`:

    >>> list(hostile_texts(re.compile("^id-([a-z]+)*$")))
    [..., ("id-", "a", "!"), ...]
"""

import re
from collections.abc import Iterator

from tests.support.linear_time import Hostile

QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})[?+]?")
ATOM = re.compile(
    r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.", re.DOTALL
)
GROUP = re.compile(r"\((?:\?(?:P<\w+>|[a-z]*:|>|<?[=!]))?")
FLAGS = re.compile(r"\(\?[a-z]+\)")
NO_TEXT = {"^", "$", r"\A", r"\Z", r"\b", r"\B"}

CHARACTERS = 'a0A-._ :/@!"=+,;#%\\\t\r\n\0' + "".join(map(chr, range(1, 256))) + "\u2028\ufeff"
"""The characters that are tried on each atom; readable ones first."""
OTHERS = 2
"""How many ends that refuse a text are tried, besides no end."""
VARIANTS = 6
"""How many texts are kept of a part with branches."""
LONGEST = 40
"""The most characters of a middle that repeats."""


class Parts:
    """What hostile texts are made from: the parts of one expression.

    `starts` are texts that lead to a repetition, `middles` are texts that a repetition takes, and
    `characters` has one of each kind: the atoms of the expression do not distinguish two characters
    of the same kind.
    """

    def __init__(self, compiled: re.Pattern[str] | re.Pattern[bytes]) -> None:
        text = compiled.pattern
        self._text = text if isinstance(text, str) else text.decode("latin-1")
        self._flags = compiled.flags & (re.IGNORECASE | re.DOTALL | re.ASCII)
        assert not compiled.flags & re.VERBOSE, "not understood: spaces that mean nothing"
        self._at = 0
        self._kinds: dict[str, str] = dict.fromkeys(CHARACTERS + self._text, "")
        self._known: set[str] = set()
        self.starts = {""}
        self.middles: set[str] = set()
        self.wholes = self._branches([""])
        assert self._at == len(self._text), f"not understood: {self._text[self._at :]}"
        kinds: dict[str, str] = {}
        for character, kind in self._kinds.items():
            kinds.setdefault(kind, character)
        self.characters = list(kinds.values())

    def _branches(self, before: list[str]) -> list[str]:
        """Read alternatives up to a closing bracket; return texts that they match."""
        texts = self._sequence(before)
        while self._text.startswith("|", self._at):
            self._at += 1
            texts += self._sequence(before)
        return texts[:VARIANTS]

    def _sequence(self, before: list[str]) -> list[str]:
        texts = [""]
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            here = [start + text for start in before for text in texts][:VARIANTS]
            pieces = self._atom(here)
            fewest, most = self._quantifier()
            if most > 1:
                self.starts.update(here)
                self.middles.update(pieces)
            texts = [text + piece * max(fewest, 1) for text in texts for piece in pieces]
            texts = texts[:VARIANTS]
        return texts

    def _atom(self, before: list[str]) -> list[str]:
        """Read a group, a class or a character; return texts that it matches."""
        flags = FLAGS.match(self._text, self._at)
        if flags:
            self._at = flags.end()
            return [""]
        group = GROUP.match(self._text, self._at)
        if group:
            self._at = group.end()
            texts = self._branches(before)
            self._at += 1
            return [""] if group[0].endswith(("=", "!")) else texts
        atom = ATOM.match(self._text, self._at)
        assert atom
        self._at = atom.end()
        if atom[0] in NO_TEXT:
            return [""]
        single = re.compile(atom[0], self._flags)
        if atom[0] not in self._known:
            self._known.add(atom[0])
            for character in self._kinds:
                self._kinds[character] += "1" if single.fullmatch(character) else "0"
        return [next(filter(single.fullmatch, self._kinds))]

    def _quantifier(self) -> tuple[int, int]:
        """Read how often an atom repeats: at least, and at most."""
        quantifier = QUANTIFIER.match(self._text, self._at)
        if not quantifier:
            return 1, 1
        self._at = quantifier.end()
        sign, least, comma, most = quantifier.groups()
        if sign:
            return {"*": (0, 1_000), "+": (1, 1_000), "?": (0, 1)}[sign]
        return int(least or 0), int(most or 1_000) if comma else int(least)


def hostile_texts(compiled: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[Hostile]:
    """Yield the hostile texts of an expression, the shortest first.

    So exponential work is noticed before a long start or middle would take for ever. A repetition
    is tried behind all that leads to it. Pairs of characters are tried at the start only: behind
    something, the texts of the expression's own repetitions are enough.
    """
    parts = Parts(compiled)
    words = {each for each in (*parts.starts, *parts.wholes) if each}
    middles = parts.middles | words | set(parts.characters)
    apart = {word + character for word in words for character in parts.characters}
    pairs = {first + second for first in parts.characters for second in parts.characters}
    chosen = {(start, middle) for start in parts.starts for middle in middles}
    chosen |= {("", middle) for middle in apart | pairs}
    for start, middle in sorted(chosen, key=lambda each: (len("".join(each)), each)):
        if not 0 < len(middle) <= LONGEST:
            continue
        yield start, middle, ""
        refused = 0
        for end in reversed(parts.characters):
            if refused < OTHERS and not matches(compiled, start + middle * 3 + end):
                refused += 1
                yield start, middle, end


def matches(compiled: re.Pattern[str] | re.Pattern[bytes], text: str) -> bool:
    """Say whether the expression takes the complete text, of characters or of bytes."""
    if isinstance(compiled.pattern, bytes):
        return compiled.fullmatch(text.encode("latin-1", "replace")) is not None
    return compiled.fullmatch(text) is not None

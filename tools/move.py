"""Move a module or a package, with everything that names it.

python -m tools.move ticketing/services/foo.py ticketing/core/foo.py
python -m tools.move ticketing/services/payments ticketing/core/payments

It runs `git mv`, rewrites imports, dotted names and paths in all files of git, sorts imports, and
prints which files it changed. Commit or stash first, and read the difference.

If the last part of the name changes, names in code stay: `from a import foo` becomes
`from b import bar as foo`. Only `import a.foo` has its uses rewritten, to `b.bar`.

Paths without the first folder (`services/foo.py`) are rewritten in Markdown, comments and
docstrings only: elsewhere they may be templates. What it does not rewrite but may be meant is
printed to look at: `foo.py` in prose, `__file__`, and loggers with the name of a module.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MODULE = re.compile(r"from\s*([\w.\s]*?)\s*\bimport\b")
_OWN_NAME = re.compile(r"\b__file__\b|getLogger\(__name__\)")


class Edit(NamedTuple):
    """A text for a part of a file."""

    start: int
    end: int
    text: str


class Name:
    """One end of the move, as a path and as Python names it."""

    def __init__(self, path: str) -> None:
        self.path = path.strip("/")
        self.parts = tuple(self.path.removesuffix(".py").split("/"))
        self.dotted = ".".join(self.parts)
        self.parent, self.last = ".".join(self.parts[:-1]), self.parts[-1]
        self.is_module = self.path.endswith(".py")


class Move:
    """What changes when `old` becomes `new`."""

    def __init__(self, old: Name, new: Name) -> None:
        self.old, self.new = old, new
        stem = old.path.removesuffix(".py")
        # A folder of the same name is no module, nor is a template or a package's sibling.
        end = r"(?P<py>\.py)?(?![\w/-]|\.\w)" if old.is_module else r"(?P<py>)(?![\w-]|\.\w)"
        short = stem.partition("/")[2]
        self._path = re.compile(rf"(?<![\w.-]){re.escape(stem)}{end}")
        self._dotted = re.compile(rf"(?<![\w.]){re.escape(old.dotted)}(?!\w)")
        self._short = re.compile(rf"(?<![\w/.-]){re.escape(short)}{end}")
        self._has_short = "/" in short and old.parts[0] == new.parts[0]
        pieces = r'"\s*/\s*"'.join(map(re.escape, old.path.split("/")))
        self._joined = re.compile(f'"{pieces}"')
        mentions = [rf"{old.last}{'[.]py' if old.is_module else '/'}"]
        mentions += [rf"{re.escape(short)}\b"] if "/" in short else []
        self.mention = re.compile(rf"(?<![\w/.-])(?:{'|'.join(mentions)})")

    def module(self, name: str) -> str:
        """Return how a module is named after the move."""
        if name == self.old.dotted or name.startswith(self.old.dotted + "."):
            return self.new.dotted + name[len(self.old.dotted) :]
        return name

    def text(self, text: str, is_prose: bool) -> str:
        """Rewrite dotted names and paths in a text that is no Python."""
        stem = self.new.path.removesuffix(".py")

        def renamed(found: re.Match[str]) -> str:
            return stem + found["py"] if found["py"] else stem

        text = self._dotted.sub(self.new.dotted, text)
        text = self._path.sub(renamed, text)
        if is_prose and self._has_short:
            root = self.new.parts[0] + "/"
            text = self._short.sub(lambda found: renamed(found).removeprefix(root), text)
        return text

    def joined(self, text: str) -> Iterator[Edit]:
        """Yield edits of paths that Python joins: `ROOT / "folder" / "file.py"`."""
        for found in self._joined.finditer(text):
            names = '" / "'.join(self.new.path.split("/"))
            yield Edit(*found.span(), f'"{names}"')


class Source:
    """A Python file. `was`: its path before the move."""

    def __init__(self, text: str, was: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._was = was

    def at(self, line: int, column: int) -> int:
        """Return the place of an AST's position, whose columns count bytes."""
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """Return where a node begins and ends."""
        end = self.at(node.end_lineno or 0, node.end_col_offset or 0)
        return self.at(node.lineno, node.col_offset), end

    def edits(self, move: Move) -> list[Edit]:
        """Return what changes in this file, in order."""
        strings = list(self._strings())
        found = [*self._texts(move, strings), *move.joined(self.text)]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                found += self._import_from(node, move)
            elif isinstance(node, ast.Import):
                for each in node.names:
                    start = self.span(each)[0]
                    found.append(Edit(start, start + len(each.name), move.module(each.name)))
            elif isinstance(node, ast.Attribute) and _is(node, move.old):
                start, end = self.span(node)
                # The text of an f-string has been rewritten with its other words.
                if not any(first <= start < last for first, last, _ in strings):
                    found.append(Edit(start, end, move.new.dotted))
        return sorted(each for each in found if self.text[each.start : each.end] != each.text)

    def _strings(self) -> Iterator[tuple[int, int, bool]]:
        """Yield where strings and comments begin and end, and whether they are prose."""
        statements = (node for node in ast.walk(self.tree) if isinstance(node, ast.Expr))
        docstrings = {self.span(node)[0] for node in statements}
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                start, end = (self._lines[line - 1] + at for line, at in (token.start, token.end))
                yield start, end, token.type == tokenize.COMMENT or start in docstrings

    def _texts(self, move: Move, strings: list[tuple[int, int, bool]]) -> Iterator[Edit]:
        for start, end, is_prose in strings:
            yield Edit(start, end, move.text(self.text[start:end], is_prose))

    def _import_from(self, node: ast.ImportFrom, move: Move) -> Iterator[Edit]:
        start, end = self.span(node)
        named = _MODULE.match(self.text, start, end)
        assert named, ast.unparse(node)
        was = self._resolved(node)
        becomes = move.module(was)
        if node.level and becomes == was and move.module(dotted(self._was)) == dotted(self._was):
            becomes = named[1]  # still relative
        gone = [each for each in node.names if (was, each.name) == (move.old.parent, move.old.last)]
        moved = [self._alias(each, move) for each in gone]
        if len(gone) == len(node.names):
            yield Edit(*named.span(1), move.new.parent)
            for each, text in zip(gone, moved, strict=True):
                yield Edit(*self.span(each), text)
            return
        yield Edit(*named.span(1), becomes)
        if gone:
            indent = self.text[self.text.rfind("\n", 0, start) + 1 : start]
            lines = (f"from {move.new.parent} import {each}\n{indent}" for each in moved)
            yield Edit(start, start, "".join(lines))
            yield from self._without(node.names, gone)

    def _without(self, names: list[ast.alias], gone: list[ast.alias]) -> Iterator[Edit]:
        """Yield edits that remove names from an import, with their commas."""
        last = max(number for number, each in enumerate(names) if each not in gone)
        for number, each in enumerate(names[:last]):
            if each in gone:
                yield Edit(self.span(each)[0], self.span(names[number + 1])[0], "")
        if last < len(names) - 1:
            yield Edit(self.span(names[last])[1], self.span(names[-1])[1], "")

    def _alias(self, each: ast.alias, move: Move) -> str:
        if each.asname or move.new.last != each.name:
            return f"{move.new.last} as {each.asname or each.name}"
        return each.name

    def _resolved(self, node: ast.ImportFrom) -> str:
        """Return which module an import names, without dots at its start."""
        if not node.level:
            return node.module or ""
        package = self._was.split("/")[: -node.level]
        return ".".join([*package, *filter(None, [node.module])])


def _is(node: ast.Attribute, name: Name) -> bool:
    return node.attr == name.last and ast.unparse(node) == name.dotted


def dotted(path: str) -> str:
    """Return the name of a module."""
    return Name(path.removesuffix("/__init__.py")).dotted


def rewritten(path: Path, text: str, was: str, move: Move) -> str:
    """Return the text of a file after the move."""
    if path.suffix != ".py":
        return move.text(text, path.suffix == ".md")
    for each in reversed(Source(text, was).edits(move)):
        text = text[: each.start] + each.text + text[each.end :]
    return text


def move(root: Path, old: Name, new: Name) -> tuple[list[str], list[str]]:
    """Move, and return the files that changed, and the lines to look at."""
    change, changed, to_look_at = Move(old, new), [], []
    _run(root, "git", "mv", old.path, new.path)
    texts = dict(_texts(root))
    moved = {each for each in texts if each == new.path or each.startswith(f"{new.path}/")}
    for name, text in texts.items():
        was = old.path + name[len(new.path) :] if name in moved else name
        after = rewritten(root / name, text, was, change)
        if after != text:
            (root / name).write_bytes(after.encode())
        if after != text or name in moved:
            changed.append(name)
    ruff, python = Path(sys.executable).with_name("ruff"), [f for f in changed if f.endswith(".py")]
    _run(root, ruff, "check", "-q", "--select", "I", "--fix", *python)
    _run(root, ruff, "format", "-q", *python)
    for name, text in _texts(root):
        for number, line in enumerate(text.split("\n"), 1):
            is_mention = name.endswith((".py", ".md")) and change.mention.search(line)
            if is_mention or (name in moved and _OWN_NAME.search(line)):
                to_look_at.append(f"{name}:{number}: {line.strip()[:100]}")
    return changed, to_look_at


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield all text files of git."""
    for name in filter(None, _run(root, "git", "ls-files", "-z").split("\0")):
        if (root / name).is_file() and not (root / name).is_symlink():
            with suppress(UnicodeDecodeError):
                yield name, (root / name).read_bytes().decode()


def _run(root: Path, *command: str | Path) -> str:
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Move what the command line names."""
    old, new = (Name(each) for each in sys.argv[1:])
    if len(old.parts) < 2 or old.is_module != new.is_module or Path(new.path).exists():
        sys.exit("Name a module or package in a package, and a free place of the same kind.")
    if not (Path(new.path).parent / "__init__.py").exists():
        sys.exit(f"{Path(new.path).parent} is no package yet: add its __init__.py to git.")
    changed, to_look_at = move(Path.cwd(), old, new)
    print(*changed, *(f"look at {each}" for each in to_look_at), sep="\n")


if __name__ == "__main__":
    main()

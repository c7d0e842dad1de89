"""Compares texts with golden files, and writes these again."""

import difflib
import lzma
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MOST_SHOWN = 200


def read(name: str) -> str:
    """Return what a golden file has. One that ends with .xz is compressed."""
    path = HERE / name
    assert path.exists(), f"{name} is missing: GOLDEN=write pytest tests/golden"
    kept = path.read_bytes()
    return (lzma.decompress(kept) if path.suffix == ".xz" else kept).decode()


def compare(name: str, text: str) -> None:
    """Compare a text with its golden file, or write that."""
    if os.environ.get("GOLDEN") == "write":
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    kept = read(name)
    if kept != text:
        before, now = kept.splitlines(), text.splitlines()
        differences = difflib.unified_diff(before, now, name, "now", lineterm="", n=2)
        pytest.fail("\n".join([*differences][:MOST_SHOWN]), pytrace=False)

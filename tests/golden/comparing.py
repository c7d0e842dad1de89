"""Compares texts with golden files, and writes these again."""

import difflib
import lzma
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MOST_SHOWN = 200


def compare(name: str, text: str) -> None:
    """Compare a text with its golden file, or write that. One that ends with .xz is compressed."""
    path = HERE / name
    is_packed = path.suffix == ".xz"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(text.encode()) if is_packed else text.encode())
    assert path.exists(), f"{name} is missing: GOLDEN=write pytest tests/golden"
    kept = (lzma.decompress(path.read_bytes()) if is_packed else path.read_bytes()).decode()
    if kept != text:
        before, now = kept.splitlines(), text.splitlines()
        differences = difflib.unified_diff(before, now, name, "now", lineterm="", n=2)
        pytest.fail("\n".join([*differences][:MOST_SHOWN]), pytrace=False)

"""Runs a tool that asks for a seed phrase in its own terminal."""

import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Sequence

import pytest

from tests.support.remote import PATIENCE_SECONDS
from tools.stack import ROOT

PHRASE = "test test test test test test test test test test test junk"
"""The public seed phrase of anvil's accounts, and of anvil.SELLER_XPUB."""


def type_phrase(
    environ: dict[str, str], module: str, arguments: Sequence[str], phrase: str
) -> tuple[int, str, str]:
    """Run `python -m module`, and type the phrase at its prompt. Return exit code and output.

    Neither the terminal nor the output may show the phrase. The output includes stderr before the
    prompt.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environ,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    prompt = b""
    while not prompt.endswith(b": "):
        asked, _, _ = select.select([process.stderr], [], [], PATIENCE_SECONDS)
        said = os.read(process.stderr.fileno(), 1024) if asked else b""
        if not said:
            process.kill()
            pytest.fail(f"it asked for no phrase, but said {prompt!r}")
        prompt += said
    assert not termios.tcgetattr(theirs)[3] & termios.ECHO
    os.write(ours, f"{phrase}\n".encode())
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(theirs)
    assert phrase.encode() not in out + err + _drained(ours)
    before_the_prompt = prompt.decode().rpartition("Seed phrase")[0]
    return process.returncode, out.decode(), before_the_prompt + err.decode()


def _drained(terminal: int) -> bytes:
    """Return what a terminal still shows after its last writer has closed it."""
    shown = b""
    try:
        while more := os.read(terminal, 1024):
            shown += more
    except OSError:
        pass  # Linux reports EIO at the end
    os.close(terminal)
    return shown


def offline_environ(folder: str) -> dict[str, str]:
    """Return an environment in which a Python process that opens a socket dies."""
    with open(f"{folder}/sitecustomize.py", "w") as file:
        file.write(
            "import os, sys\n"
            "sys.addaudithook(lambda event, _: event.startswith('socket.') and os._exit(99))\n"
        )
    return {"PYTHONPATH": folder}

"""A tool that asks for a seed phrase, run with a terminal of its own."""

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


def type_phrase(
    environ: dict[str, str], module: str, arguments: Sequence[str], phrase: str
) -> tuple[int, str, str]:
    """Run `python -m module`, type the phrase at its prompt; return exit code and output.

    The phrase is never shown, neither by the terminal nor in the output. What the tool writes to
    stderr before its prompt is part of the output.
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
    """What a terminal still shows once nobody writes to it any more."""
    shown = b""
    try:
        while more := os.read(terminal, 1024):
            shown += more
    except OSError:
        pass  # Linux says EIO at the end.
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

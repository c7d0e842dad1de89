"""Runs a tool that asks for a seed phrase: in its own terminal, without one, or in this process."""

import contextlib
import io
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence

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


def run_without_terminal(
    environ: dict[str, str], module: str, arguments: Sequence[str], stdin: str
) -> tuple[int, str, str]:
    """Run `python -m module` where it can read only a pipe. Return exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        start_new_session=True,  # otherwise it asks at the terminal of the tests
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def call(
    main: Callable[[Sequence[str]], None], arguments: Sequence[str], phrase: str | None = None
) -> tuple[int, str, str]:
    """Call a tool's `main`. Return what its process would: exit code, stdout and stderr.

    The prompt gets `phrase`. Without a phrase, the tool must end before it asks.
    """
    asked = []

    def prompt(_: str) -> str:
        asked.append(phrase)
        return phrase or ""

    code, out, err = 0, io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr("tools.sweep_keys.getpass", prompt)
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                err.write(f"{end.code}\n")
    assert asked == ([] if phrase is None else [phrase])
    assert phrase is None or phrase not in out.getvalue() + err.getvalue()
    return code, out.getvalue(), err.getvalue()


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


if __name__ == "__main__":
    code, out, err = type_phrase(dict(os.environ), sys.argv[1], sys.argv[2:], PHRASE)
    sys.exit(f"{out}{err}" if code else 0)

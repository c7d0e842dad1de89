"""`make run`: once in a folder, only for this machine. It reports what prevents the start."""

import fcntl
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.support.remote import PATIENCE_SECONDS
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

FILES = {
    "DEMO_FILE": "demo.json",
    "CHAIN_STATE_FILE": "chain.json",
    "LOG_FILE": "log",
    "MAILS": "mails",
}
START = f"""
import sys
from pathlib import Path
from tools import run
folder = Path(sys.argv[1])
run.ENV_FILE, run.VAR, run.LOCK_FILE = folder / ".env", folder / "var", folder / "var" / "lock"
for name, file in {FILES}.items():
    setattr(run, name, run.VAR / file)
run.main()
"""


@pytest.fixture
def ports():
    return free_port(), free_port()


@pytest.fixture
def folder(tmp_path, ports, starts_processes):
    """A folder in which `make run` can start, with its own ports."""
    web, rpc = ports
    (tmp_path / ".env").write_text(
        f"SECRET_KEY={'x' * 32}\nPORT={web}\nRPC_URL_31337=http://127.0.0.1:{rpc}\n"
        f"DATABASE_URL=sqlite:///{tmp_path}/var/ticketing.db\n"
    )
    return tmp_path


def start(folder):
    environ = {name: value for name, value in os.environ.items() if name in ("PATH", "ANVIL")}
    return subprocess.Popen(
        [sys.executable, "-c", START, str(folder)],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refusal(folder):
    """Return the sentence with which it refuses to start."""
    with start(folder) as process:
        out, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, "")
    return told


def test_it_runs_once_in_a_folder_until_it_is_interrupted(folder, ports):
    with start(folder) as process:
        try:
            lines = iter(process.stdout.readline, "")
            assert any(line.startswith("ticketing is running.") for line in lines)
            first_sign_in = f"http://127.0.0.1:{ports[0]}/console/invitation/in_"
            assert any(f"Organize in your browser:       {first_sign_in}" in line for line in lines)
            assert any(line == "  make collect\n" for line in lines)
            assert any(f"RPC URL   http://127.0.0.1:{ports[1]}\n" in line for line in lines)
            (folder / ".env").write_text(
                (folder / ".env").read_text().replace(str(ports[0]), str(free_port()))
            )
            assert refusal(folder) == "make run: it is already running in this folder\n"
            for port in ports:
                with pytest.raises(OSError):
                    socket.create_connection(("127.0.0.2", port))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.terminate()
    assert (process.returncode, told) == (0, "")


@pytest.mark.parametrize("which", [0, 1])
def test_a_port_in_use_is_told_with_what_to_put_into_the_env_file(folder, ports, which):
    port = ports[which]
    line = (f"PORT={port + 1}", f"RPC_URL_31337=http://127.0.0.1:{port + 1}")[which]
    with socket.create_server(("127.0.0.1", port)):
        told = refusal(folder)
    assert told == (
        f"make run: port {port} is in use: stop the other program, or put {line} into .env\n"
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_what_an_env_file_lacks_is_written_into_it(folder, ports, end):
    (folder / ".env").write_text(f"PORT={ports[0]}{end}")
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        assert f"port {ports[0]} is in use" in refusal(folder)
    first, *rest = (folder / ".env").read_text().splitlines()
    assert first == f"PORT={ports[0]}"
    assert [line.partition("=")[0] for line in rest] == ["SECRET_KEY", "RPC_URL_31337"]


def test_the_lock_goes_before_the_ports(folder, ports):
    (folder / "var").mkdir()
    with (folder / "var" / "lock").open("w") as lock, socket.create_server(("", ports[0])):
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert refusal(folder) == "make run: it is already running in this folder\n"

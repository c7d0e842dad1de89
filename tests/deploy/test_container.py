"""The image: its build in a plain Debian, what is in it, and that it runs with a read-only root."""

import hashlib
import os
import re
import shutil
import stat
import subprocess

import pytest
import urllib3

from tests.support.remote import eventually
from ticketing.version import VERSION
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

LARGEST_MB = 150
USER = 10001
RUN = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount --bind "$2" "$1/data"
mount --bind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -o remount,ro,bind "$1"
shift 2
exec "$@"
"""
IN_IMAGE = """
import os, sys
root, *command = sys.argv[1:]
os.chroot(root); os.chdir("/app"); os.setgroups([]); os.setgid(10001); os.setuid(10001)
os.execvp(command[0], command)
"""
"""What a container engine does before it starts the command."""


def wanted():
    """Return what .dockerignore lets into the build."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[0] == "*" and lines[-1] == "**/__pycache__"
    return [line.removeprefix("!") for line in lines[1:-1]]


def of_dockerfile(word):
    """Return the arguments of an instruction of the last stage."""
    text = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2].replace("\\\n", " ")
    (found,) = re.findall(rf"^{word} (.*)$", text, re.MULTILINE)
    return found


@pytest.fixture
def image(debian_root):
    """The files of the image, built as the Dockerfile says."""
    source = debian_root / "src"
    source.mkdir()
    for name in wanted():
        path = ROOT / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, source / name, ignore=ignored)
        else:
            shutil.copy(path, source / name)
    assert "RUN sh deploy/container/build.sh /out\n" in (ROOT / "Dockerfile").read_text()
    build(debian_root, "/out")
    return debian_root / "out"


def build(root, out):
    network = [f"{name}={text}" for name, text in os.environ.items() if name == "PIP_CERT"]
    script = f"cd /src && sh deploy/container/build.sh {out}"
    clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *network]
    done = subprocess.run(
        ["chroot", root, *clean, "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def files(image):
    """Return each path of an image with its mode, owner and content."""
    found = {}
    for path in sorted(image.rglob("*")):
        known = path.lstat()
        content = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        name = str(path.relative_to(image))
        found[name] = (known.st_mode, known.st_uid, known.st_gid, int(known.st_mtime), content)
    return found


def test_the_image_is_small_closed_reproducible_and_runs_read_only(image, tmp_path, debian_root):
    known = files(image)
    size = sum(path.lstat().st_size for path in image.rglob("*") if path.is_file())
    assert size < LARGEST_MB * 10**6
    names = {name.rpartition("/")[2] for name in known}
    assert not names & {"sh", "bash", "dash", "apt", "dpkg", "pip", "perl", "gcc"}
    assert not [name for name, (mode, *_) in known.items() if mode & (stat.S_ISUID | stat.S_ISGID)]
    assert {uid for name, (_, uid, *_) in known.items() if name != "data"} == {0}
    build(debian_root, "/out2")
    again = files(debian_root / "out2")
    assert {name for name in known.keys() | again.keys() if known.get(name) != again.get(name)} == (
        set()
    )
    runs(image, tmp_path)


def runs(image, tmp_path):
    """Migrate, serve, check the health, back up: as an unprivileged user, on read-only files."""
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, USER, USER)
    port = free_port()
    settings = dict(re.findall(r"(\w+)=(\S+)", of_dockerfile("ENV")))
    environ = {
        **settings,
        "PORT": str(port),
        "SECRET_KEY": "for-tests-only-0123456789abcdefghijklmnopqrstuvwxyz",
        "RPC_URL_8453": "http://127.0.0.1:9",
        "DOMAIN": "localhost",
    }
    assert of_dockerfile("USER") == f"{USER}:{USER}" and of_dockerfile("WORKDIR") == "/app"

    def command(*arguments):
        inner = ["/usr/bin/python3", "-c", IN_IMAGE, image, *arguments]
        return ["unshare", "--mount", "/bin/sh", "-c", RUN, "sh", image, data, *inner]

    def run(*arguments, code=0):
        done = subprocess.run(
            command(*arguments), env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    assert run("flask", "--app", "app", "version") == f"{VERSION}\n"
    assert "applied" in run("flask", "--app", "app", "db", "upgrade")
    assert run("python", "healthcheck.py", code=1) == ""
    log = tmp_path / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command("gunicorn", "app:create_app()"), env=environ, stdout=output, stderr=output
        )
    try:
        eventually(lambda: "Booting worker" in log.read_text())
        eventually(
            lambda: subprocess.run(command("python", "healthcheck.py"), env=environ).returncode == 0
        )
        url = f"http://127.0.0.1:{port}"
        ready = urllib3.request("GET", f"{url}/readyz").json()
        assert (ready["status"], ready["version"]) == ("ready", VERSION)
        assert urllib3.request("GET", f"{url}/console/sign-in").status == 200
    finally:
        server.terminate()
        server.wait()
    key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    run("flask", "--app", "app", "db", "backup", "/data/copy.age", "--recipient", key)
    assert (data / "copy.age").read_bytes().startswith(b"age-encryption.org/v1")
    assert "(PostgreSQL) 15" in run("pg_restore", "--version")
    run("python", "-c", "open('/app/new', 'w')", code=1)

"""A Debian 12 of its own, in a folder: to build in, or booted with a real systemd. Needs root."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from tools import START_SECONDS, Running, ToolMissing, installer

MIRROR = "http://deb.debian.org/debian"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NEEDS = ("unshare", "nsenter", "chroot")
_BOOT = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount --rbind /dev "$1/dev"
# This folder may be in /dev/shm, where RemoveIPC= deletes what a unit's user owns.
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
mkdir -p "$1/former"
cd "$1"
pivot_root . former
umount -l /former
exec env -i container=other PATH=$PATH LANG=C.UTF-8 /lib/systemd/systemd --show-status=no
"""


def install(folder: Path, *packages: str) -> Path:
    """Install a minimal Debian with further packages into an empty folder. ToolMissing."""
    if os.geteuid() != 0:
        raise ToolMissing("only root can make a Debian root")
    missing = [each for each in _NEEDS if shutil.which(each) is None]
    if missing:
        raise ToolMissing(f"{missing[0]} is missing")
    program = installer.from_debian("debootstrap")
    scripts = program.parents[1] / "share" / "debootstrap"
    environ = {**os.environ, "DEBOOTSTRAP_DIR": str(scripts)}
    include = ",".join(("ca-certificates", *packages))
    command = [program, "--variant=minbase", f"--include={include}", "bookworm", folder, MIRROR]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolMissing(f"debootstrap failed: {done.stdout.strip()[-300:]}")
    # The network of this machine: its names, and the authorities that it trusts.
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(Path("/", name), folder / name)
    (folder / "etc" / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    return folder


class Host(Running):
    """A booted Debian. It has processes and folders of its own, and the network of this machine.

    A context manager.
    """

    def __init__(self, folder: Path) -> None:
        """Boot what was installed, with systemd and dbus, into `folder`. RuntimeError."""
        self._folder = folder
        namespaces = ["--mount", "--pid", "--uts", "--ipc", "--cgroup"]
        with (folder.parent / "boot.log").open("w") as log:
            self._outer = subprocess.Popen(
                ["unshare", *namespaces, "--fork", "--kill-child", "sh", "-c", _BOOT, "sh", folder],
                env={**os.environ, "PATH": _PATH},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_booted():
            if time.monotonic() > deadline or self._outer.poll() is not None:
                said = (folder.parent / "boot.log").read_text()[-500:]
                self.stop()
                raise RuntimeError(f"systemd did not start: {said}")
            time.sleep(0.2)

    def run(self, script: str, *, is_checked: bool = True) -> str:
        """Run a script of bash as root. Return what it prints."""
        done = subprocess.run(
            [*self._enter(), "bash", "-e", "-o", "pipefail"],
            input=script,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not is_checked or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """Kill it with all its processes."""
        self._outer.kill()
        self._outer.wait()

    def _is_booted(self) -> bool:
        command = ["systemctl", "is-system-running"]
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        if not (children.exists() and children.read_text().split()):
            return False
        said = subprocess.run(
            [*self._enter(), *command], capture_output=True, text=True, check=False
        )
        return said.stdout.strip() in ("running", "degraded")

    def _enter(self) -> list[str]:
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        first = children.read_text().split()[0]
        own = ["--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd"]
        network = [f"{name}={text}" for name, text in os.environ.items() if name == "PIP_CERT"]
        clean = ["env", "-i", f"PATH={_PATH}", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        return ["nsenter", "--target", first, *own, *clean, *network]

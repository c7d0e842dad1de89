"""Several hosts on one machine: network namespaces that a switch connects.

For Linux and root. Nothing stays behind, also after SIGKILL: a namespace ends with its last
process, and its links and addresses end with it.
"""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import START_SECONDS, Running, ToolMissing, reaper

RIGHTS = "network namespaces need root with CAP_SYS_ADMIN and CAP_NET_ADMIN"
_PROGRAMS = ("ip", "nsenter", "taskset", "tc", "unshare")
_BLOCK = "198.18"
"""The addresses for measurements (RFC 2544): no real network has them."""


@dataclass(frozen=True)
class Host:
    """Where a program runs: on this machine, or in a namespace of it that process `holder` keeps.

    With a `core`, its programs run on this core only.
    """

    address: str = "127.0.0.1"
    holder: int | None = None
    core: int | None = None

    def start(
        self, command: Sequence[str | Path], *, user: str | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a program as `user`, in a session of its own. `options` are those of Popen."""
        if self.holder is None:
            return subprocess.Popen(command, user=user, start_new_session=True, **options)
        # Only root may enter, so the user changes after that.
        enter: list[str | Path] = [*_enter(self.holder)]
        if user is not None:
            enter.append(f"--setuid={pwd.getpwnam(user).pw_uid}")
        enter.append("--")
        if self.core is not None:
            enter += ["taskset", "--cpu-list", str(self.core)]
        return subprocess.Popen([*enter, *command], start_new_session=True, **options)


HERE = Host()
"""This machine."""


class Network(Running):
    """A switch that connects this machine with new hosts. A context manager."""

    def __init__(self) -> None:
        """Connect this machine. ToolMissing without the programs or the rights."""
        missing = [program for program in _PROGRAMS if not shutil.which(program)]
        if missing:
            raise ToolMissing(f"{', '.join(missing)} is missing: install iproute2 and util-linux")
        self._holders: list[subprocess.Popen[bytes]] = []
        self._subnet = f"{_BLOCK}.{os.getpid() % 256}"
        try:
            self._switch = self._hold()
            self._in(self._switch, "ip", "link", "add", "switch", "type", "bridge")
            self._in(self._switch, "ip", "link", "set", "switch", "up")
            link = f"bench{os.getpid()}"
            self._connect(link, os.getpid(), 1)
        except BaseException:
            self.stop()
            raise
        self.address = f"{self._subnet}.1"

    def join(self, *, core: int | None = None, delay_ms: float = 0.0) -> Host:
        """Return a new host. It sends each packet `delay_ms` later. ToolMissing without netem."""
        holder = self._hold()
        number = len(self._holders)
        self._in(holder, "ip", "link", "set", "lo", "up")
        self._connect("uplink", holder, number)
        if delay_ms:
            try:
                delay = ("netem", "delay", f"{delay_ms}ms")
                self._in(holder, "tc", "qdisc", "add", "dev", "uplink", "root", *delay)
            except ToolMissing:
                raise ToolMissing("a delay needs the kernel's module sch_netem") from None
        return Host(f"{self._subnet}.{number}", holder, core)

    def stop(self) -> None:
        """Remove all hosts. Their programs must have ended."""
        for holder in self._holders:
            holder.kill()
            holder.wait()
            reaper.forget(holder.pid)

    def _hold(self) -> int:
        """Start a process that has a new namespace. Return its pid."""
        holder = subprocess.Popen(
            ["unshare", "--net", "sleep", "infinity"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._holders.append(holder)
        reaper.watch(holder.pid)
        deadline = time.monotonic() + START_SECONDS
        while holder.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                if _namespace(holder.pid) != _namespace(os.getpid()):
                    return holder.pid
            time.sleep(0.01)
        raise ToolMissing(RIGHTS)

    def _connect(self, link: str, pid: int, number: int) -> None:
        """Connect the namespace of a process with the switch, and give it an address."""
        port = f"port{number}"
        ends = ["type", "veth", "peer", "name", port, "netns", str(self._switch)]
        self._in(pid, "ip", "link", "add", "name", link, *ends)
        self._in(self._switch, "ip", "link", "set", port, "master", "switch", "up")
        self._in(pid, "ip", "address", "add", f"{self._subnet}.{number}/24", "dev", link)
        self._in(pid, "ip", "link", "set", link, "up")

    def _in(self, pid: int, *command: str) -> None:
        """Run a command in the namespace of a process."""
        done = subprocess.run(
            [*_enter(pid), "--", *command], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            said = done.stderr.strip().rpartition("\n")[2]
            raise ToolMissing(f"{RIGHTS} ({' '.join(command[:3])}: {said})")


def _enter(pid: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{pid}/ns/net"]


def _namespace(pid: int) -> str:
    return os.readlink(f"/proc/{pid}/ns/net")

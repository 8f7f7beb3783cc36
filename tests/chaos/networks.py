"""Networks of their own for the workers of a cluster, which can be cut off. Linux, its ``ip``, and root are needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.problem import HarnessProblem

__all__ = ["Networks"]

_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


class Networks:
    """A network namespace for each of ``count`` workers, numbered from 1; ``with`` creates and removes them.

    ``driver`` is the address of this machine for driver and Master, ``brokers`` that for brokers: so a worker can be
    cut off from the one and not from the other.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._name = f"ksqlpy-{os.getpid()}"
        self._net = f"10.{64 + os.getpid() % 128}"
        self.driver, self.brokers = f"{self._net}.0.1", f"{self._net}.0.2"
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Raises HarnessProblem ``no-networks`` where this process may not create them."""
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise HarnessProblem("no-networks", "networks of workers need root and the command ip")
        try:
            before = _FORWARD.read_text(encoding="ascii")
            _FORWARD.write_text("1", encoding="ascii")
            self._stack.callback(_FORWARD.write_text, before, encoding="ascii")
            for address in (self.driver, self.brokers):
                _ip("address", "add", f"{address}/32", "dev", "lo")
                self._stack.callback(_ip, "address", "delete", f"{address}/32", "dev", "lo")
            for worker in range(1, self._count + 1):
                self._make(worker)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()

    def _make(self, worker: int) -> None:
        name, outside = self._of(worker), f"kq{os.getpid() % 100_000}v{worker}"
        _ip("netns", "add", name)
        self._stack.callback(_ip, "netns", "delete", name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        # The kernel removes it some time after its namespace, and its name and address would be taken until then.
        self._stack.callback(_ip, "link", "delete", outside)
        _ip("address", "add", f"{self._net}.{worker}.1/30", "dev", outside)
        _ip("link", "set", outside, "up")
        _ip("-n", name, "address", "add", f"{self.address(worker)}/30", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "route", "add", "default", "via", f"{self._net}.{worker}.1")

    def _of(self, worker: int) -> str:
        return f"{self._name}-{worker}"

    def address(self, worker: int) -> str:
        """The address of a worker."""
        return f"{self._net}.{worker}.2"

    def command(self, worker: int) -> tuple[str, ...]:
        """What stands ahead of a command that is to run there."""
        return ("ip", "netns", "exec", self._of(worker))

    def cut(self, worker: int, *, brokers: bool) -> None:
        """Nothing from the worker reaches driver and Master any more; ``brokers``: nor anything else."""
        _ip("-n", self._of(worker), "route", "add", "blackhole", self._lost(brokers=brokers))

    def mend(self, worker: int, *, brokers: bool) -> None:
        """Undoes :meth:`cut`."""
        _ip("-n", self._of(worker), "route", "delete", "blackhole", self._lost(brokers=brokers))

    def _lost(self, *, brokers: bool) -> str:
        return f"{self._net}.0.0/16" if brokers else f"{self.driver}/32"


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise HarnessProblem("no-networks", f"ip {' '.join(arguments)}: {done.stderr.strip()}")

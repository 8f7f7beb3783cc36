"""A small process between ksqlpy and a child, so that no child outlives ksqlpy, however that ends.

The guard starts the command and holds one end of a socket whose other end only ksqlpy has. When ksqlpy closes it,
dies, or sends SIGTERM, the guard ends the child (SIGTERM first, SIGKILL after a grace time) and removes the folders
that it was told to. It exits with the child's status. (The kernel's "signal on parent's death" is no substitute: it
fires when the *thread* that forked ends, and exists on Linux only.)

The guard runs as a plain script, without site packages and without the rest of ksqlpy: about 10 MB and 20 ms. The
other half of this file, :class:`Guarded`, is for the process that starts it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Guarded"]


class Guarded:
    """A command that runs under a guard.

    ``log``: a file that output is appended to. ``grace``: seconds between SIGTERM and SIGKILL. ``remove``: folders to
    delete once the command has ended. ``keep_open``: file descriptors, such as of locks, that the guard (not the
    command) holds until then. Raises OSError when the command cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        grace: float = 10.0,
        remove: Sequence[Path] = (),
        keep_open: Sequence[int] = (),
    ) -> None:
        self._grace = grace
        self._socket, theirs = socket.socketpair()
        options = ["--grace", str(grace), "--parent", str(os.getpid())]
        for folder in remove:
            options += ["--remove", str(folder)]
        with theirs, log.open("ab") as out:
            try:
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__, *options, "--", *command],
                    stdin=theirs.fileno(),
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=env,
                    cwd=cwd,
                    pass_fds=tuple(keep_open),
                    # Ctrl-C in a terminal is ksqlpy's business: it may still need its children to end in order.
                    start_new_session=True,
                )
            except BaseException:
                self._socket.close()
                raise
        answer = b""
        while not answer.endswith(b"\n"):
            part = self._socket.recv(64)
            if not part:
                break
            answer += part
        self.pid = int(answer or 0)
        """Process id of the command itself; 0 when it could not be started."""
        if not self.pid:
            self.stop()
            raise FileNotFoundError(f"{command[0]} cannot be started")

    def poll(self) -> int | None:
        """Exit status of the command (128 + signal when a signal ended it), None while it runs."""
        return self._guard.poll()

    def stop(self) -> int:
        """End the command, wait for it, return its exit status. May be called again."""
        self._socket.close()  # this is what the guard waits for
        try:
            return self._guard.wait(self._grace + 10)
        except subprocess.TimeoutExpired:  # a guard that was itself stopped (SIGSTOP): do its work
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
            self._guard.kill()
            return self._guard.wait()


def _die_with_guard() -> None:
    """Linux only: the kernel ends the command should the guard itself be killed."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG; safe here, the guard has one thread


def main(argv: Sequence[str] | None = None) -> int:
    """The guard process; file descriptor 0 is the socket to the parent."""
    parser = argparse.ArgumentParser(prog="guard")
    parser.add_argument("--grace", type=float, default=10.0)
    parser.add_argument("--parent", type=int, default=0)
    parser.add_argument("--remove", action="append", default=[])
    parser.add_argument("command", nargs="+")
    args = parser.parse_args(argv)

    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    asked_to_end = False

    def end(_signum: int, _frame: object) -> None:
        nonlocal asked_to_end
        asked_to_end = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)  # only to wake up

    status = 127
    try:
        child = subprocess.Popen(
            args.command,
            stdin=subprocess.DEVNULL,
            preexec_fn=_die_with_guard if sys.platform == "linux" else None,
        )
    except OSError as e:
        print(f"{args.command[0]}: {e.strerror}", file=sys.stderr)
    else:
        with contextlib.suppress(OSError):
            os.write(0, f"{child.pid}\n".encode())
        watched = [0, wake_read]
        while child.poll() is None and not asked_to_end:
            # The timeout is for a parent that forked: its copy holds the socket open after the parent's death.
            ready, _, _ = select.select(watched, [], [], 1.0)
            if wake_read in ready:
                os.read(wake_read, 512)
            if (0 in ready and not _still_open()) or (args.parent and os.getppid() != args.parent):
                break
        by_itself = child.poll() is not None
        status = _end(child, args.grace)
        if not by_itself:
            for folder in args.remove:
                shutil.rmtree(folder, ignore_errors=True)
    return status


def _still_open() -> bool:
    try:
        return bool(os.read(0, 64))
    except OSError:
        return False


def _end(child: subprocess.Popen[bytes], grace: float) -> int:
    """Let the child end if it still runs; its status as a shell would give it."""
    if child.poll() is None:
        child.terminate()
        deadline = time.monotonic() + grace
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if child.poll() is None:
            child.kill()
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())

"""Holds back a JVM's optimizing compiler while the JVM starts its work.

A new JVM has all to compile. Its quick compiler (C1) makes code run some times faster at once; the optimizing one (C2)
takes twice the CPU for what pays only later, and on a small machine takes it from what is waited for: queries that
start, or make up for what came while they were away.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

__all__ = ["OPTIMIZED_LATER", "PROFILES_UNUSED", "hold_optimizer_back", "optimizer_held_back"]

OPTIMIZED_LATER = (
    # While the optimizing compiler has anything to do, methods get less of a profile: their code is a third quicker.
    "-XX:Tier3DelayOn=0",
    # Ten times Java's own.
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    # Three times Java's own: most of what a query that starts calls some hundred times is never called again.
    "-XX:Tier3InvocationThreshold=600",
    "-XX:Tier3MinInvocationThreshold=300",
    "-XX:Tier3CompileThreshold=6000",
)
"""Options of a JVM whose compilers wait until code is hot: for JVMs that start together on few cores."""

PROFILES_UNUSED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTReplayTraining")
"""Options of a JVM with an ahead-of-time cache (Java 25): its profiles would have much optimized at the start."""

_OPTIMIZER = "C2 CompilerThre"
"""The name of its threads, of which Linux keeps 15 characters."""
_LOOK = 0.2
"""Seconds between looks for such threads of a JVM that is being started."""


@contextlib.contextmanager
def optimizer_held_back(seconds: float) -> Iterator[None]:
    """Lets the optimizing compiler of JVMs that are started inside run only on cores that have nothing else to do.

    ``seconds``: how long after the block. Only JVMs that the calling thread starts. It changes nothing where it could
    not be undone: Linux alone can do it, and there a process may give its threads their priority back with CAP_SYS_NICE
    or an RLIMIT_NICE of 20 (sched(7)).
    """
    if sys.platform != "linux" or not _can_undo():
        yield
        return
    starter = threading.get_native_id()
    before = _children(starter)
    started = threading.Event()

    def hold() -> None:
        while not started.wait(_LOOK):
            _schedule(_children(starter) - before, os.SCHED_IDLE)

    holding = threading.Thread(target=hold, daemon=True)
    holding.start()
    try:
        yield
    finally:
        jvms = _children(starter) - before
        started.set()
        holding.join()
        _hold(jvms, seconds)


def hold_optimizer_back(jvm: int, seconds: float) -> None:
    """The same for a JVM that runs: ``jvm`` is its process, which must be a child of this one."""
    if sys.platform == "linux" and _can_undo():
        _hold({jvm}, seconds)


def _hold(jvms: set[int], seconds: float) -> None:
    _schedule(jvms, os.SCHED_IDLE)
    end = threading.Timer(seconds, _schedule, (jvms, os.SCHED_OTHER))
    end.daemon = True
    end.start()


if sys.platform == "linux":

    def _children(thread: int) -> set[int]:
        """The processes that a thread of this process has started, where the kernel keeps them."""
        with contextlib.suppress(OSError):
            return {int(pid) for pid in Path(f"/proc/self/task/{thread}/children").read_text().split()}
        return set()

    def _schedule(jvms: set[int], policy: int) -> None:
        for jvm in jvms:
            # A JVM, or a thread, that has ended meanwhile needs nothing.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for thread in Path(f"/proc/{jvm}/task").iterdir():
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        if (thread / "comm").read_text().strip() == _OPTIMIZER:
                            os.sched_setscheduler(int(thread.name), policy, os.sched_param(0))

    @functools.cache
    def _can_undo() -> bool:
        done = []

        def trial() -> None:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
                done.append(True)

        # A thread of its own: where it cannot be undone, it stays as it is.
        thread = threading.Thread(target=trial)
        thread.start()
        thread.join()
        return bool(done)

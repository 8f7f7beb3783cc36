"""The processes that run functions in Python for JVMs. Needs psutil (the extra ``dev``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from random import Random

import psutil

from tests.harness.problem import HarnessProblem
from tests.support.waiting import until

__all__ = ["kill_python"]

THERE = 180.0
"""Seconds that JVMs may be without them: they begin them at the first call, and may have to start again themselves."""


def kill_python(jvms: Callable[[], Sequence[psutil.Process]], random: Random, *, forks: bool = False) -> int:
    """Kills one of their workers with SIGKILL, or the process that forks those of a JVM; gives its process id.

    ``jvms``: those that there are now; one may be about to start again. Raises HarnessProblem ``no-worker`` where there
    is none for long.
    """
    found = until(lambda: _forking(jvms()) if forks else _workers(jvms()), THERE)
    if not found:
        raise HarnessProblem("no-worker", f"no function in Python was called for {THERE:g} s")
    process = random.choice(sorted(found, key=lambda p: p.pid))
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
    return process.pid


def _forking(jvms: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [c for jvm in jvms for c in _children(jvm) if _python(c)]


def _workers(jvms: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [c for forking in _forking(jvms) for c in _children(forking)]


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []


def _python(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("python")
    except psutil.NoSuchProcess:
        return False

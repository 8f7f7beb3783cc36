"""Workers of this process: functions in Python that are called without Spark, by lookups and push queries.

The JVM has a pool of its own, ``jvm/python/Workers.java``, with the same rules and the same workers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksqlpy.errors import EngineProblem
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.seldom import PRINTS, Seldom
from ksqlpy.udfs.values import Read, Unfit, Write, reader, writer

__all__ = ["FILES", "CallFailed", "Settings", "Workers"]

log = logging.getLogger(__name__)

FILES = ("declare.py", "values.py", "worker.py")
"""What a process of Python runs, beside ``boot.py``; all lie beside this file."""

ATTEMPTS = 3
"""How often a call is made whose worker is gone without its doing: others may have killed it."""

LOADING = 30.0
"""Seconds that importing a function's modules may take."""

AGAIN = 1.0
"""Seconds for which a function that could not be loaded is not tried again; as long as it took, if that was longer."""

_COMES = 20.0
_GRACE = 0.2
_LONGEST_PATH = 100
_LARGEST = 1 << 25
_MOST_LINES, _LONGEST_LINE = 20, 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOST_ARGUMENTS = 1 << 26
_FAILED, _PRINTED = 1, 2
_NONSENSE = "the worker answers what it must not"
_INT = struct.Struct(">i")


@dataclass(frozen=True)
class Settings:
    """How workers run: the properties ``ksqlpy.functions.python.*``. ``memory``: bytes of address space of each."""

    workers: int = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    memory: int = 1 << 30
    user: str = ""
    path: tuple[str, ...] = ()
    executable: str = sys.executable


class CallFailed(Exception):
    """A call that gave no value. ``kind``: the name of the exception, or TimeLimit, Worker, Result."""

    def __init__(self, kind: str, reason: str, traceback: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.traceback = traceback


class Workers:
    """At most ``settings.workers`` processes, which fork from one. All methods may be called by several threads.

    ``seldom``: which failures and prints are logged. Calls wait for user code, up to its time limit: never in the
    thread of an event loop.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self.seldom = Seldom()
        self._free = threading.BoundedSemaphore(self._settings.workers)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._forks: _Forks | None = None
        self._end_forks: Callable[[], object] = lambda: None
        self._known: dict[Definition, _Call] = {}
        self._closed = False

    def call(self, definition: Definition, arguments: Sequence[Any]) -> Any:
        """What the function gives: values as :mod:`ksqlpy.reading` has them, so DATE, TIME and TIMESTAMP as numbers.

        Raises CallFailed where it gives nothing, and EngineProblem ``python-missing`` where no Python runs.
        """
        call = self._call(definition)
        call.check_loaded()
        return self._answer(call.request(arguments), definition.timeout_ms / 1000, call)

    def load(self, definition: Definition) -> None:
        """Has a worker run what stands outside of the function, such as its imports; raises as :meth:`call`."""
        self._answer(None, LOADING, self._call(definition))

    def _call(self, definition: Definition) -> _Call:
        with self._lock:
            call = self._known.get(definition)
            if call is None:
                call = self._known[definition] = _Call(len(self._known), definition)
            return call

    def describe(self, wanted: Mapping[str, Any]) -> str:
        """What a file or a module declares, as ``worker.py``, ``describe``, says it. It is run in a worker of its own.

        Raises as :meth:`call`.
        """
        data = json.dumps({"describe": dict(wanted)}).encode()
        request = _INT.pack(len(data) + 4) + _INT.pack(-1) + data
        with self._free:
            worker = self._take(new=True)
            try:
                answer = worker.ask(request, LOADING, wanted.get("filename") or wanted["module"])
            except OSError as e:
                raise CallFailed("Worker", "its worker has ended") from e
            finally:
                worker.end()
        text: str = reader("STRING")(answer, 0)[0]
        return text

    def close(self) -> None:
        """Ends all workers."""
        with self._lock:
            self._closed = True
            self._forks, self._idle = None, []
        self._end_forks()

    # ------------------------------------------------------------ one request

    def _answer(self, request: bytes | None, limit: float, call: _Call) -> Any:
        """The value of a call; None where it is loaded only."""
        began = time.monotonic()
        failed = CallFailed("Worker", f"its worker has ended {ATTEMPTS} times")
        with self._free:
            for attempt in range(ATTEMPTS):
                worker = self._take(new=attempt > 0)
                whole = loaded = False
                try:
                    if call.id not in worker.calls:
                        worker.ask(call.described, LOADING, call.name)
                        worker.calls.add(call.id)
                        call.loaded()
                    loaded = True
                    value = None if request is None else call.value(worker.ask(request, limit, call.name))
                    whole = True
                    return value
                except CallFailed as e:
                    whole = True
                    if not loaded:
                        call.not_loaded(e, time.monotonic() - began)
                    raise
                except OSError:
                    pass
                finally:
                    if whole and not worker.spent:
                        with self._lock:
                            self._idle.append(worker)
                    else:  # what it still answers, to a call that was interrupted, would be the next one's
                        worker.end()
        if not loaded:
            call.not_loaded(failed, time.monotonic() - began)
        raise failed

    def _take(self, *, new: bool) -> _Worker:
        with self._lock:
            if self._closed:
                raise EngineProblem("python-missing", "functions in Python have ended with their server")
            if self._idle and not new:
                return self._idle.pop()
            attempt = 0
            while True:
                attempt, forks = attempt + 1, None
                try:
                    if self._forks is None or not self._forks.alive:
                        self._end_forks()
                        self._forks = _Forks(self._settings, self.seldom)
                        self._end_forks = weakref.finalize(self, self._forks.close)  # nobody may have closed this
                    forks = self._forks
                    return forks.fork()
                except (OSError, ValueError) as e:
                    if attempt < ATTEMPTS and forks is not None and forks.gone():  # others may have killed that, too
                        continue
                    raise EngineProblem(
                        "python-missing", f"Python ({self._settings.executable}) runs no functions here: {e}"
                    ) from e


class _Call:
    def __init__(self, number: int, definition: Definition) -> None:
        told = definition.to_call("init" if definition.kind == "AGGREGATE" else "")
        self.id = number
        self.name = definition.name
        described = json.dumps({**told, "id": number}).encode()
        self.described = _INT.pack(len(described) + 4) + _INT.pack(-1) + described
        self._writers: list[Write] = [writer(t, plain=True) for t in told["takes"]]
        self._read: Read = reader(told["gives"], plain=True)
        self._not_loaded: tuple[float, CallFailed] | None = None

    def request(self, arguments: Sequence[Any]) -> bytes:
        out = bytearray(_INT.pack(0) + _INT.pack(self.id))
        try:
            for write, value in zip(self._writers, arguments, strict=True):
                one = bytearray()
                write(one, value)
                out += one
        except Unfit as e:
            raise CallFailed("Arguments", str(e).replace("the result", "an argument")) from e
        if len(out) > _MOST_ARGUMENTS:
            said = f"the arguments are too large: {len(out):,} bytes, and {_MOST_ARGUMENTS:,} are allowed"
            raise CallFailed("Arguments", said)
        _INT.pack_into(out, 0, len(out) - 4)
        return bytes(out)

    def value(self, answer: bytes) -> Any:
        """Raises ConnectionResetError for an answer that is none: functions share a process with who answers."""
        try:
            return self._read(answer, 0)[0]
        except (LookupError, ValueError, ArithmeticError, struct.error) as e:
            raise ConnectionResetError(_NONSENSE) from e

    def loaded(self) -> None:
        """It is loaded."""
        self._not_loaded = None

    def check_loaded(self) -> None:
        """Raises CallFailed where it could not be loaded a moment ago: each call would start its imports again."""
        known = self._not_loaded
        if known is not None and time.monotonic() < known[0]:
            raise CallFailed(known[1].kind, str(known[1]), known[1].traceback)

    def not_loaded(self, why: CallFailed, took: float) -> None:
        """It could not be loaded, which took so many seconds."""
        self._not_loaded = time.monotonic() + max(AGAIN, took), why


class _Worker:
    """One worker, which one thread uses at a time."""

    def __init__(self, forks: _Forks, number: int, connection: socket.socket) -> None:
        self._forks = forks
        self._number = number
        self._connection = connection
        self.calls: set[int] = set()
        self.spent = False
        self._come = b""

    def end(self) -> None:
        """Ends it, and what it has started."""
        self.spent = True
        self._forks.order("kill", self._number)
        self._connection.close()

    def ask(self, request: bytes, limit: float, name: str) -> bytes:
        """The value of an answer. Raises CallFailed, and OSError where the worker is gone."""
        end = time.monotonic() + limit
        self._come = b""
        try:
            self._connection.settimeout(limit)
            self._connection.sendall(request)
            answer = self._receive(end)
        except TimeoutError:
            where = self._stopped(name)
            raise CallFailed("TimeLimit", f"it took longer than {limit * 1000:.0f} ms", where) from None
        return self._value(answer, name)

    def _stopped(self, name: str) -> str:
        """Ends what takes too long; its traceback, where it still says one."""
        self._forks.order("stop", self._number)
        try:
            self._value(self._receive(time.monotonic() + _GRACE), name)
        except CallFailed as e:
            return e.traceback
        except OSError:
            return ""
        finally:
            self.end()
        return ""

    def _value(self, answer: bytes, name: str) -> bytes:
        status, answer = answer[0], answer[1:]
        try:
            if status & _PRINTED:
                place = 4 + _INT.unpack_from(answer)[0]
                if (more := self._forks.seldom.more(name, PRINTS)) is not None:
                    printed = answer[4:place].decode("utf-8", "replace")
                    log.warning("function %s prints%s: %s", name, _and(more), printed)
                answer = answer[place:]
            if not status & _FAILED:
                return answer
            kind, reason, traceback = answer.decode("utf-8", "replace").split("\n", 2)
        except (ValueError, struct.error) as e:
            raise ConnectionResetError(_NONSENSE) from e
        if kind == "MemoryError":
            self.end()  # it would be short of memory from now on
        raise CallFailed(kind, reason, traceback)

    def _receive(self, end: float) -> bytes:
        """The answer, of which some may have come; raises TimeoutError when the time is over."""
        while len(self._come) < 4 or len(self._come) < 4 + _INT.unpack_from(self._come)[0]:
            if len(self._come) >= 4 and not 0 < _INT.unpack_from(self._come)[0] <= _LARGEST:
                raise ConnectionResetError(_NONSENSE)
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            more = self._connection.recv(1 << 20 if self._come else 65536)
            if not more:
                raise ConnectionResetError("the worker has ended")
            self._come += more
        if len(self._come) > 4 + _INT.unpack_from(self._come)[0]:  # what is more would be the next call's
            raise ConnectionResetError(_NONSENSE)
        return self._come[4:]


class _Forks:
    """The process that forks workers."""

    def __init__(self, settings: Settings, seldom: Seldom) -> None:
        self.seldom = seldom
        here = Path(__file__).parent
        parent = tempfile.gettempdir()
        self._folder = tempfile.mkdtemp(prefix="python-", dir=parent if len(parent) < _LONGEST_PATH - 40 else "/tmp")
        path = os.path.join(self._folder, "w")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.settimeout(0.1)
        self._token = secrets.token_hex(16)
        self._last = 0
        self._orders = threading.Lock()
        try:
            self._server.bind(path)
            self._server.listen(64)
            self._process = subprocess.Popen(
                [settings.executable, "-s", "-c", (here / "boot.py").read_text("utf-8")],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(os.environ),
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            self._server.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        threading.Thread(target=self._log, name="python output", daemon=True).start()
        begin = f"{len(FILES)}\n".encode()
        for file in FILES:
            text = (here / file).read_bytes()
            begin += f"{file.removesuffix('.py')} {len(text)}\n".encode() + text
        told = {"memory": settings.memory, "user": settings.user, "path": list(settings.path)}
        self._say(begin + json.dumps({"socket": path, "token": self._token, **told}).encode() + b"\n")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def gone(self) -> bool:
        """Whether it has ended, or is about to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return not self.alive

    def fork(self) -> _Worker:
        """A new worker; raises OSError. One thread at a time."""
        self._last += 1
        self._say(f"fork {self._last}\n".encode())
        end = time.monotonic() + _COMES
        while True:
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                if self.alive and time.monotonic() < end:
                    continue
                raise
            connection.settimeout(_COMES)
            hello = b""
            while not hello.endswith(b"\n"):
                part = connection.recv(1)
                if not part:
                    break
                hello += part
            token, number, *_ = hello.decode().split() or [" ", "0"]
            if token == self._token and int(number) == self._last:
                return _Worker(self, self._last, connection)
            connection.close()

    def order(self, verb: str, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is gone, and all workers with it
            self._say(f"{verb} {number}\n".encode())

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _say(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with self._orders:
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def _log(self) -> None:
        assert self._process.stderr is not None
        second, logged = 0.0, 0
        with self._process.stderr as output:
            while line := output.readline(_LONGEST_LINE):  # a function may write for ever without an end of line
                if time.monotonic() - second > 1:
                    second, logged = time.monotonic(), 0
                logged += 1
                if logged <= _MOST_LINES:
                    log.warning("Python: %s", _CONTROL.sub(" ", line.decode("utf-8", "replace").rstrip()))


def _and(more: int) -> str:
    return f" (and {more:,} times since the last entry)" if more else ""


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """That of workers: ours may hold secrets."""
    return {
        "PATH": ours.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # sets have one order in all workers
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }

"""The processes that run functions in Python: one that forks, and the workers that it forks.

This file and ``values.py`` stand alone: they run in one namespace, on executors without ksqlpy and by another Python
than the server's. Who starts it (``jvm/python/Zygote.java``, ``udfs/pool.py``) holds its standard input: a line of
settings as JSON, then ``fork NUMBER``, ``kill NUMBER``, and ``stop NUMBER`` to raise a TimeoutError in what a worker
runs, by a signal that nobody else uses: functions may have alarms of their own. At the end of the input all workers
are killed. Each worker connects to the socket of the settings, says ``token number pid``, and answers requests.

Requests and answers are frames: an int32 with the length of what follows. A request begins with an int32: -1 and a JSON
object ``{"id":n,…}`` makes a call known; n and the arguments call it. ``{"describe":…}`` asks what a file declares.
``LOOK`` or ``FOLLOWED`` may be added to n; with the latter, answers go out together. An answer begins with a byte: 0
and the value, nothing for what is made known, a STRING for what is described, or 1 and a failure: its kind, its reason
and its traceback, a line each but the last. Neither kind nor reason can begin a line. With 2 added, what was printed
comes before, as a STRING with its length.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import importlib
import io
import json
import linecache
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ksqlpy.udfs.values import LONGEST, Unfit, caller, writer

MOST_PRINTED = 4000
MOST_TRACED = 6000
MOST_REASON = 1000
MOST_KIND = 100
MOST_PLACE = 300
OURS = "<ksqlpy "
"""How the names of these files begin in tracebacks."""

LOOK = 1 << 30
"""What is added to the number of a call after which others follow closely."""

FOLLOWED = 1 << 29
"""What is added to the number of a call whose answer may go out with that of the next one, which is on its way."""

TOGETHER = 1 << 15
"""Bytes of answers that go out together."""

SLOW = 0.001
"""Seconds that a call takes whose answer, and those before it, go out at once."""

STOP = signal.SIGRTMAX if sys.platform == "linux" else signal.SIGUSR2

OWN_KINDS = ("TimeLimit", "Worker", "Result", "Arguments", "MemoryError", "")
"""Kinds that say something to who asks: no class of the user's has one of these names."""

_INT = struct.Struct(">i")


# ---------------------------------------------------------------- functions


def load(call: dict[str, Any]) -> Callable[..., Any]:
    """What a call runs: the function, or the method of an aggregate. Raises what the user's code raises."""
    if call["body"]:
        module = _module(call["name"], call["body"])
        if not hasattr(module, call["callable"]):
            raise NameError(f"the text defines no {call['callable']}")
        found = getattr(module, call["callable"])
    else:
        name, _, inside = call["callable"].partition(":")
        found = importlib.import_module(name)
        _check_unchanged(name, found, call["module_digest"])
        for part in inside.split("."):
            found = getattr(found, part)
    declared = getattr(found, "__ksqlpy__", None)
    if call["method"]:
        methods = declared.methods(found) if declared is not None else None
        made = found() if methods is None and isinstance(found, type) else found
        return cast(Callable[..., Any], getattr(made, call["method"]) if methods is None else methods[call["method"]])
    if declared is not None:
        return cast(Callable[..., Any], declared.call(found))
    if not callable(found):
        raise TypeError(f"{call['callable']} is no function")
    return cast(Callable[..., Any], found)


_loaded: dict[str, tuple[str, ModuleType]] = {}


def _module(name: str, body: str) -> ModuleType:
    """The text as a module, which all methods of an aggregate share."""
    known = _loaded.get(name)
    if known is not None and known[0] == body:
        return known[1]
    place = f"function {name}"
    linecache.cache[place] = (len(body), None, body.splitlines(keepends=True), place)
    module = sys.modules[place] = ModuleType(place)  # dataclasses look there
    exec(compile(body, place, "exec"), module.__dict__)
    _loaded[name] = body, module
    return module


def _check_unchanged(name: str, module: Any, wanted: str) -> None:
    file = getattr(module, "__file__", None)
    if wanted and file:
        with open(file, "rb") as opened:
            if hashlib.sha256(opened.read()).hexdigest() != wanted:
                raise ImportError(f"module {name} is another than when the function was created")


def describe(wanted: dict[str, Any]) -> str:
    """What a text, or a module, declares with the decorators of ``declare.py``, as JSON: ``functions`` or ``error``."""
    place: str = wanted.get("filename") or wanted["module"]
    try:
        if "module" in wanted:
            module = importlib.import_module(place)
        else:
            text = wanted["text"]
            linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
            module = sys.modules[place] = ModuleType(place)
            exec(compile(text, place, "exec"), module.__dict__)
        functions = sys.modules["ksqlpy"].described(module.__dict__)
        if "module" in wanted:
            with open(str(module.__file__), "rb") as opened:
                own = {"file": module.__file__, "digest": hashlib.sha256(opened.read()).hexdigest()}
            functions = [{**f, **own} for f in functions]
        return json.dumps({"functions": functions})
    except BaseException as e:  # also SystemExit
        return json.dumps({"error": _placed(e, place)})


def _placed(error: BaseException, place: str) -> dict[str, Any]:
    """Code, message, file and line of what describing a file has raised."""
    if isinstance(error, sys.modules["ksqlpy"].DeclarationError):
        return {name: getattr(error, name) for name in ("code", "message", "file", "line")}
    if isinstance(error, SyntaxError):
        return {"code": "", "message": f"SyntaxError: {error.msg}", "file": error.filename, "line": error.lineno}
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == place]
    message = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", " ")
    return {"code": "", "message": message[:1000], "file": place, "line": lines[-1] if lines else None}


class Call:
    """One function, or one method of an aggregate, with its types. Making it runs the user's imports."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.name: str = described["name"]
        most: int = described.get("most", LONGEST)
        self.answer = caller(described["takes"], described["gives"], load(described), most)


def failure(error: BaseException, name: str) -> bytes:
    """Kind, reason and traceback of an exception, without the frames of this file."""
    try:
        return _failure(error, name)
    except BaseException as e:  # what the user's own classes raise where they are asked for anything
        kind = _kind(error)
        return f"{kind}\n{kind}: its text cannot be made: {_kind(e)}\n".encode()


def _failure(error: BaseException, name: str) -> bytes:
    kind, class_name = _kind(error), _shown(type(error).__name__, MOST_KIND)
    try:
        reason = str(error)
    except BaseException as e:
        reason, error = f"its text cannot be made: {e!r}", e.with_traceback(error.__traceback__)
    where: object = None
    trace = error.__traceback__
    if isinstance(error, SyntaxError) and error.filename == f"function {name}":
        reason, where = error.msg, error.lineno
    frames = [f for f in traceback.extract_tb(trace) if not f.filename.startswith(OURS)]
    inner = [f for f in frames if f.filename == f"function {name}"] or frames
    if inner and where is None:
        where = inner[-1].lineno
        if inner[-1].filename != f"function {name}":
            where = f"{where} of {inner[-1].filename}"
    head = "" if isinstance(error, Unfit) else f"{class_name}: "
    line = "" if where is None else _shown(f" (line {where})", MOST_PLACE)
    told = head + _shown(reason or "no reason given", MOST_REASON - len(head) - len(line)) + line
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames[-20:])] if frames else []
    text = "".join([*lines, *traceback.format_exception_only(type(error), error)])
    return f"{kind}\n{told}\n{text[-MOST_TRACED:]}".encode("utf-8", "replace")


def _kind(error: BaseException) -> str:
    """One word of one line, by which failures are told apart."""
    if isinstance(error, Unfit):
        return "Result"
    if isinstance(error, MemoryError):
        return "MemoryError"
    name = "_".join(_shown(type(error).__name__, MOST_KIND).split())
    return "Exception" if name in OWN_KINDS else name


def _shown(text: str, most: int) -> str:
    """The text in one line of so many characters, without those by which a terminal or a log shows it otherwise."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() else " " for c in cut)


class Printed(io.TextIOBase):
    """What functions print: it goes with the next answer, so far as there is room for it."""

    encoding, errors = "utf-8", "replace"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        if len(self.text) < MOST_PRINTED:
            self.text = (self.text + str(text))[:MOST_PRINTED]
        return len(str(text))

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """It stays open: the calls behind this one print, too."""

    def take(self) -> bytes:
        data, self.text = self.text.encode("utf-8", "replace"), ""
        return data


class Around:
    """What all functions of a worker share: what a call changes of it is undone behind the call.

    What a module changes while it is loaded stays, as in any program.
    """

    def __init__(self, printed: Printed) -> None:
        self._printed: Any = printed
        self.keep()
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _arguments: object) -> None:
        if event == "os.chdir":
            self.moved = True

    def keep(self) -> None:
        """Behind a load."""
        self.depth = sys.getrecursionlimit()
        self.moved = False
        try:
            self._folder = os.getcwd()
        except OSError:  # it is gone
            self._folder = "/"
        sys.stdout = sys.stderr = self._printed

    def restore(self) -> None:
        """Behind a call that has changed something."""
        sys.stdout = sys.stderr = self._printed
        sys.setrecursionlimit(self.depth)
        if self.moved:
            with contextlib.suppress(OSError):  # it is gone
                os.chdir(self._folder)
            self.moved = False


# ---------------------------------------------------------------- a worker

_serving = False


def _out_of_time(_number: int, _frame: FrameType | None) -> None:
    if _serving:
        raise TimeoutError("the time limit has passed")


_forked = False


def _in_child(connection: socket.socket) -> None:
    """In a process that a function has forked: it answers nothing, or there would be two answers to one request."""
    global _forked
    _forked = True
    connection.close()


def serve(connection: socket.socket) -> None:
    """Answers requests until the other side closes."""
    global _serving
    printed = Printed()
    around = Around(printed)
    depth = sys.getrecursionlimit
    signal.signal(STOP, _out_of_time)
    os.register_at_fork(after_in_child=lambda: _in_child(connection))
    answers: dict[int, Callable[[Any, int], Any]] = {}
    names: dict[int, str] = {}
    receive, send, unpack, clock = connection.recv, connection.sendall, struct.Struct(">ii").unpack_from, time.monotonic
    system = sys
    data: Any = b""
    at = 0  # in data, behind the last request
    waiting = bytearray()  # answers of requests that others follow
    begun = 0.0
    look = False
    while True:
        if at == len(data):
            data, at = (_look(receive) if look else receive(65536)), 0
            begun = clock()
            if not data:
                return
        while len(data) - at < 8:
            more = receive(65536)
            if not more:
                return
            data, at = data[at:] + more, 0
        length, number = unpack(data, at)
        if at + length + 4 > len(data):
            data, at = _rest(connection, data[at:], length + 4), 0
        place = at + 8
        at += length + 4
        look = followed = False
        if number >= FOLLOWED:
            look = number >= LOOK
            number &= LOOK - 1
            followed = number >= FOLLOWED
            number &= FOLLOWED - 1
        answer = answers.get(number)
        out: Any = b"\0\0\0\1\0"
        _serving = True
        try:
            if answer is not None:
                out = answer(data, place)
            else:
                described = json.loads(data[place:at])
                names[number] = described.get("name", "")
                if "describe" in described:
                    out = bytearray(out)
                    writer("STRING")(out, describe(described["describe"]))
                    _INT.pack_into(out, 0, len(out) - 4)
                else:
                    call = Call(described)
                    answers[described["id"]], names[described["id"]] = call.answer, call.name
                around.keep()
            _serving = False
        except BaseException as e:  # also SystemExit
            _serving = False
            around.restore()
            told = failure(e, names.get(number, ""))
            out = _INT.pack(len(told) + 1) + b"\1" + told
        if _forked:
            os._exit(0)
        if system.stdout is not printed or system.stderr is not printed or depth() != around.depth or around.moved:
            around.restore()
        if printed.text:
            said = printed.take()
            out = _INT.pack(len(out) + len(said)) + bytes([out[4] + 2]) + _INT.pack(len(said)) + said + out[5:]
        if not followed and not waiting:
            send(out)
            continue
        waiting += out
        now = clock()
        if not followed or now - begun > SLOW or len(waiting) > TOGETHER:
            send(waiting)
            waiting = bytearray()
        begun = now


def _look(receive: Callable[..., bytes]) -> bytes:
    """Looks for the next request for some 20 µs before it waits: to be woken takes longer than many a call."""
    for _ in range(20):
        try:
            return receive(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
    return receive(65536)


def _rest(connection: socket.socket, begun: bytes, length: int) -> bytearray:
    whole = bytearray(length)
    whole[: len(begun)] = begun
    view, at = memoryview(whole), len(begun)
    while at < length:
        got = connection.recv_into(view[at:])
        if not got:
            os._exit(0)
        at += got
    view.release()
    return whole


_PDEATHSIG, _NO_NEW_PRIVILEGES = 1, 38


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def limit(settings: dict[str, Any]) -> None:
    """Makes this process one that may do little: see the settings' names."""
    if settings.get("user"):
        import pwd

        other = pwd.getpwnam(settings["user"])
        os.setgroups([])
        os.setgid(other.pw_gid)
        os.setuid(other.pw_uid)
        _bound(resource.RLIMIT_NPROC, 256)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _bound(resource.RLIMIT_AS, settings["memory"])
    _bound(resource.RLIMIT_NOFILE, 256)
    _bound(resource.RLIMIT_FSIZE, 64 << 20)
    _bound(resource.RLIMIT_CORE, 0)


def _bound(which: int, most: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with contextlib.suppress(ValueError, OSError):  # a system without this limit
        resource.setrlimit(which, (most, most))


def work(settings: dict[str, Any], number: str, parent: int) -> None:
    """A worker's whole life."""
    os.setsid()  # its own children end with it
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(settings["socket"])  # as who started us: others may not reach it
    limit(settings)
    _prctl(_PDEATHSIG, signal.SIGKILL)  # setuid would undo it
    if os.getppid() != parent:
        return
    connection.sendall(f"{settings['token']} {number} {os.getpid()}\n".encode())
    gc.enable()
    serve(connection)


# ---------------------------------------------------------------- the process that forks


def main() -> None:
    """Forks and kills workers as standard input says, and ends them all with it."""
    pipe = os.fdopen(0, "rb", buffering=0, closefd=False)
    data = b""
    while b"\n" not in data:
        part = pipe.read(65536)
        if not part:
            return
        data += part
    first, _, data = data.partition(b"\n")
    settings = json.loads(first)
    sys.path[:] = [*settings["path"], *filter(None, sys.path)]
    os.dup2(2, 1)
    workers: dict[str, int] = {}
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    gc.collect()
    gc.freeze()  # so that workers share what was made so far
    gc.disable()
    parent = os.getpid()
    try:
        while True:
            *lines, data = data.split(b"\n")
            for line in lines:
                verb, _, number = line.decode().partition(" ")
                if verb == "fork":
                    _fork(settings, number, parent, workers, (wake_read, wake_write))
                elif number in workers:
                    with contextlib.suppress(ProcessLookupError):
                        if verb == "kill":
                            os.killpg(workers[number], signal.SIGKILL)
                        else:
                            os.kill(workers[number], STOP)
            ready, _, _ = select.select([0, wake_read], [], [])
            if wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake_read, 4096)
            _reap(workers)
            if 0 in ready:
                part = os.read(0, 65536)
                if not part:
                    return
                data += part
    finally:
        if os.getpid() == parent:
            for pid in workers.values():
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):  # who has started us may have been killed
                os.unlink(settings["socket"])
                os.rmdir(os.path.dirname(settings["socket"]))


def _fork(settings: dict[str, Any], number: str, parent: int, workers: dict[str, int], ours: Iterable[int]) -> None:
    try:
        pid = os.fork()
    except OSError as e:
        os.write(2, f"no worker can be started: {e}\n".encode())
        return
    if pid:
        workers[number] = pid
        return
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in ours:
            os.close(fd)
        work(settings, number, parent)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(0)


def _reap(workers: dict[str, int]) -> None:
    for number, pid in list(workers.items()):
        # Seen before it is reaped, while its number is nobody else's.
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            del workers[number]


if __name__ == "__main__":
    main()

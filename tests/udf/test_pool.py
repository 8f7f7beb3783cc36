"""Functions in Python in worker processes, without Spark: what results may be, and all ways in which a call may end."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from ksqlpy.errors import EngineProblem
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from ksqlpy.udfs import pool
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Settings, Workers
from ksqlpy.udfs.seldom import Seldom
from tests.udf.calling import failure, function

POINT = StructType((("X", DOUBLE), ("NAMES", ArrayType(STRING))))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(Settings(workers=4, memory=1 << 30))
    yield made
    made.close()


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (BOOLEAN, False),
        (INTEGER, -(2**31)),
        (BIGINT, 2**63 - 1),
        (DOUBLE, 0.1),
        (STRING, "naïve 😀" * 50_000),
        (BYTES, b"\0\xff"),
        (DATE, 20_000),
        (TIME, 86_399_999),
        (TIMESTAMP, -1),
        (DecimalType(38, 20), Decimal("-123456789012345678.12345678901234567890")),
        (ArrayType(MapType(STRING, ArrayType(INTEGER))), [{"a": [1, None]}, None, {}]),
        (POINT, {"X": 1.5, "NAMES": None}),
    ],
    ids=str,
)
def test_values_go_both_ways_unchanged(workers: Workers, kind: SqlType, value: object) -> None:
    same = function("def f(x):\n    return x", kind, [kind])
    assert workers.call(same, [value]) == value
    assert workers.call(same, [None]) is None


@pytest.mark.parametrize(
    ("kind", "expression", "value"),
    [
        (INTEGER, "True", 1),
        (INTEGER, "-(2**31)", -(2**31)),
        (BIGINT, "-(2**63)", -(2**63)),
        (BOOLEAN, "True", True),
        (STRING, "'é' * 99_999", "é" * 99_999),
        (STRING, "type('Text', (str,), {})('of a class')", "of a class"),
        (DOUBLE, "1", 1.0),
        (DOUBLE, "decimal.Decimal('0.5')", 0.5),
        (DecimalType(4, 2), "1", Decimal("1.00")),
        (DecimalType(4, 2), "0.005", Decimal("0.01")),
        (DecimalType(2, 2), "decimal.Decimal('0.994')", Decimal("0.99")),
        (DecimalType(2, 2), "decimal.Decimal('0E-400')", Decimal("0.00")),
        (BYTES, "memoryview(b'ab')", b"ab"),
        (STRING, r"'a\ud800b'", "a?b"),
        (DATE, "datetime.date(1970, 1, 2)", 1),
        (TIME, "datetime.time(0, 0, 1, 2999)", 1002),
        (TIMESTAMP, "datetime.datetime(1970, 1, 1, 0, 0, 1, 2999)", 1002),
        (TIMESTAMP, "datetime.datetime.fromisoformat('1970-01-01T01:00:01+01:00')", 1000),
        (ArrayType(INTEGER), "(n for n in range(3))", [0, 1, 2]),
        (ArrayType(INTEGER), "(1, None)", [1, None]),
        (POINT, "{'x': 1.5}", {"X": 1.5, "NAMES": None}),
        (POINT, "types.SimpleNamespace(x=1.5, names=('a', 'b'))", {"X": 1.5, "NAMES": ["a", "b"]}),
        (POINT, "collections.namedtuple('P', 'x')(x=2)", {"X": 2.0, "NAMES": None}),
    ],
)
def test_what_a_result_may_be(workers: Workers, kind: SqlType, expression: str, value: object) -> None:
    body = f"import collections, datetime, decimal, types\ndef f():\n    return {expression}"
    assert workers.call(function(body, kind), ()) == value


@pytest.mark.parametrize(
    ("kind", "expression", "reason"),
    [
        (BOOLEAN, "1", "the result must be a bool, not an int"),
        (INTEGER, "-(2**31) - 1", "the result is out of the range of INTEGER"),
        (BIGINT, "2**63", "the result is out of the range of BIGINT"),
        (INTEGER, "2**31", "the result is out of the range of INTEGER"),
        (INTEGER, "1.0", "the result must be an int, not a float"),
        (BIGINT, "-2**63 - 1", "the result is out of the range of BIGINT"),
        (DOUBLE, "'1'", "the result must be a float, not a str"),
        (DOUBLE, "10**400", "the result is out of the range of DOUBLE"),
        (STRING, "5", "the result must be a str, not an int"),
        (STRING, "'x' * 10_000_001", "the result is too large: 10,000,007 bytes or more, and 10,000,000 are allowed"),
        (BYTES, "bytes(1_000_000_000)[:900_000_000]", "MemoryError"),
        (BYTES, "'a'", "the result must be bytes, not a str"),
        (DATE, "datetime.datetime(2026, 1, 1)", "the result must be a date, not a datetime"),
        (TIME, "5", "the result must be a time, not an int"),
        (TIMESTAMP, "datetime.date(2026, 1, 1)", "the result must be a datetime, not a date"),
        (DecimalType(4, 2), "99.995", "the result is out of the range of DECIMAL(4, 2)"),
        (DecimalType(4, 2), "decimal.Decimal('NaN')", "the result is out of the range of DECIMAL(4, 2)"),
        (DecimalType(4, 2), "decimal.Decimal('1E+999999')", "the result is out of the range of DECIMAL(4, 2)"),
        (ArrayType(INTEGER), "5", "the result must be a list, not an int"),
        (ArrayType(STRING), "'abc'", "the result must be a list, not a str"),
        (ArrayType(INTEGER), "[1, 'a']", "the result must be an int, not a str"),
        (ArrayType(BIGINT), "itertools.count()", "the result is too large: 10,000,009 bytes or more, and 10,000,000"),
        (STRING, "'x' * 9_999_992", "the result is too large: 10,000,002 bytes, and 10,000,000 are allowed"),
        (MapType(STRING, INTEGER), "[('a', 1)]", "the result must be a dict, not a list"),
        (MapType(STRING, INTEGER), "{None: 1}", "a key of a MAP is None"),
        (POINT, "{'Y': 1}", "the STRUCT has no field Y"),
        (POINT, "[1.5]", "the result must be a dict, or an object with the fields as attributes, not a list"),
    ],
)
def test_what_a_result_may_not_be(workers: Workers, kind: SqlType, expression: str, reason: str) -> None:
    body = f"import datetime, decimal, itertools\ndef f():\n    return {expression}"
    failed = failure(workers, function(body, kind))
    assert str(failed).startswith(reason)
    assert failed.kind == ("MemoryError" if reason == "MemoryError" else "Result")


def test_what_a_function_sees(workers: Workers) -> None:
    shown = function("def f(*all):\n    return repr(all)", takes=[DATE, TIME, TIMESTAMP, DecimalType(4, 2), POINT])
    seen = workers.call(shown, [0, 1, 2, Decimal("1.50"), {"X": 1.0, "NAMES": []}])
    assert seen == (
        "(datetime.date(1970, 1, 1), datetime.time(0, 0, 0, 1000),"
        " datetime.datetime(1970, 1, 1, 0, 0, 0, 2000, tzinfo=datetime.timezone.utc),"
        " Decimal('1.50'), {'X': 1.0, 'NAMES': []})"
    )


def test_any_of_the_arguments_may_be_null(workers: Workers) -> None:
    values = [-5, "naïve", 2**40, True, 0.5, ""]
    shown = function("def f(*all):\n    return repr(all)", takes=[INTEGER, STRING, BIGINT, BOOLEAN, DOUBLE, STRING])
    for nulls in itertools.product([False, True], repeat=len(values)):
        given = tuple(None if null else value for null, value in zip(nulls, values, strict=True))
        assert workers.call(shown, given) == repr(given)


def test_a_struct_has_attributes(workers: Workers) -> None:
    body = "def f(p):\n    p.x = p.X + p.x\n    return p if p['X'] == 3 else p.y"
    moved = function(body, POINT, [POINT])
    assert workers.call(moved, [{"X": 1.5, "NAMES": ["a"]}]) == {"X": 3.0, "NAMES": ["a"]}
    failed = failure(workers, moved, {"X": 1.0, "NAMES": []})
    assert str(failed) == "AttributeError: the STRUCT has no field y (line 3)"


def test_a_function_of_a_module_until_it_changes(workers: Workers, tmp_path: Path) -> None:
    from hashlib import sha256

    file = tmp_path / "taxes.py"
    file.write_text("RATE = 2\nclass Rules:\n    @staticmethod\n    def f(x): return x * RATE\n", "utf-8")
    known = {"callable": "taxes:Rules.f", "module_digest": sha256(file.read_bytes()).hexdigest()}
    doubled = Definition("F", "SCALAR", (("x", BIGINT),), BIGINT, "", **known)
    own = Workers(Settings(workers=1, path=(str(tmp_path),)))
    try:
        assert own.call(doubled, [4]) == 8
        file.write_text("RATE = 3\n", "utf-8")
        assert own.call(doubled, [4]) == 8  # it is loaded
    finally:
        own.close()
    own = Workers(Settings(workers=1, path=(str(tmp_path),)))
    try:
        assert str(failure(own, doubled, 4)).startswith(
            "ImportError: module taxes is another than when the function was created"
        )
    finally:
        own.close()


# ---------------------------------------------------------------- how a call may end

SOCKET = """
import os, stat, time
def answer(some):
    fds = [n for n in range(3, 64) if os.path.exists(f'/dev/fd/{n}') and stat.S_ISSOCK(os.fstat(n).st_mode)]
    os.write(fds[0], bytes(some))
"""
"""By which a function answers itself, as only its worker should."""


@pytest.mark.parametrize(
    ("body", "reason", "line"),
    [
        ("def f():\n    x = 0\n    return 1 / x", "ZeroDivisionError: division by zero (line 3)", "return 1 / x"),
        ("def f():\n    return f()", "RecursionError: maximum recursion depth exceeded", "return f()"),
        ("import sys\ndef f():\n    sys.exit(3)", "SystemExit: 3 (line 3)", "sys.exit(3)"),
        (
            "def f():\n    raise KeyboardInterrupt",
            "KeyboardInterrupt: no reason given (line 2)",
            "raise KeyboardInterrupt",
        ),
        (
            "import nowhere\ndef f():\n    pass",
            "ModuleNotFoundError: No module named 'nowhere' (line 1)",
            "import nowhere",
        ),
        ("def f(:\n    pass", "SyntaxError: invalid syntax (line 1)", "def f(:"),
        ("def g():\n    pass", "NameError: the text defines no f", ""),
        ("f = 5", "TypeError: f is no function", ""),
        ("def f(x):\n    pass", "TypeError: f() missing 1 required positional argument: 'x'", ""),
        (
            "class Odd(Exception):\n    def __str__(self): return 1 / 0\ndef f():\n    raise Odd",
            "Odd: its text cannot be made: ZeroDivisionError('division by zero')",
            "",
        ),
        ("def f():\n    yield 5", "the result must be a str, not a generator", ""),
        ("async def f():\n    return 5", "the result must be a str, not a coroutine", ""),
        ("import os\ndef f():\n    os._exit(0)", "its worker has ended 3 times", ""),
        ("import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGSEGV)", "its worker has ended 3 times", ""),
        ("import os\ndef f():\n    os.closerange(0, 256)", "its worker has ended 3 times", ""),
        ("import os\nos._exit(0)\ndef f(): pass", "its worker has ended 3 times", ""),
        (
            f"{SOCKET}def f():\n    answer([0, 0, 0, 3, 0, 0, 1])",
            "its worker has ended 3 times",
            "",
        ),
        (f"{SOCKET}def f():\n    answer([0, 0, 0, 2, 1, 65])", "its worker has ended 3 times", ""),
        ("import os\ndef f():\n    os.fork()\n    return str(1 // 0)", "ZeroDivisionError", "return str(1 // 0)"),
        (
            "def f():\n    return 'x' * 2_000_000_000",
            "MemoryError: no reason given (line 2)",
            "return 'x' * 2_000_000_000",
        ),
        (
            "import tempfile\ndef f():\n    tempfile.TemporaryFile(buffering=0).write(bytes(65 << 20)); 1 / 0",
            "ZeroDivisionError",
            "",
        ),
    ],
)
def test_a_call_that_fails(workers: Workers, body: str, reason: str, line: str) -> None:
    definition = function(body)
    for _ in range(2):  # the worker, or the one behind it, goes on
        failed = failure(workers, definition)
        assert str(failed).startswith(reason)
        assert line in failed.traceback
        assert "<ksqlpy" not in failed.traceback
    assert workers.call(function("def f():\n    return 'well'"), ()) == "well"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("def f():\n    while True:\n        pass", "pass"),
        ("import time\ndef f():\n    time.sleep(3600)", "time.sleep(3600)"),
        ("def f():\n    while True:\n        try:\n            while True: pass\n        except: pass", ""),
        (
            "import signal as s\ndef f():\n    for n in s.valid_signals() - {s.SIGKILL, s.SIGSTOP}:\n"
            "        s.signal(n, s.SIG_IGN)\n    while True: pass",
            "",
        ),
        ("import os, time\ndef f():\n    os.fork()\n    time.sleep(3600)", ""),
        ("def f():\n    try:\n        while True: pass\n    except TimeoutError: return 'late'", ""),
        (f"{SOCKET}def f():\n    while True:\n        answer([0, 1]); time.sleep(.01)", ""),
    ],
)
def test_a_call_without_end_ends_at_its_limit(workers: Workers, body: str, line: str) -> None:
    failed = failure(workers, function(body, timeout_ms=300))
    assert (failed.kind, str(failed)) == ("TimeLimit", "it took longer than 300 ms")
    assert line in failed.traceback
    assert workers.call(function("def f():\n    return 'well'"), ()) == "well"


@pytest.mark.parametrize(
    "body",
    [
        "import os\ndef f(x):\n    os.fork()\n    return x",
        "import multiprocessing as m\ndef f(x):\n    p = m.get_context('fork').Process(target=str)\n    p.start()\n"
        "    p.join()\n    return x",
        "import subprocess\ndef f(x):\n    subprocess.run(['true'])\n    return x",
    ],
    ids=["fork", "multiprocessing", "subprocess"],
)
def test_processes_of_a_function_answer_nothing(body: str) -> None:
    """Two answers to one call would be that of the next call."""
    definition = function(body, INTEGER, [INTEGER])
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        assert [workers.call(definition, [n]) for n in range(20)] == list(range(20))


def test_what_is_printed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    printing = function(
        "import sys\ndef f():\n    print('here')\n    print('x' * 9000, file=sys.stderr)\n    return 'well'"
    )
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        assert [workers.call(printing, ()) for _ in range(3)] == ["well"] * 3
    (line,) = [r.getMessage() for r in caplog.records if "prints" in r.getMessage()]
    assert line.startswith("function F prints: here\nxxx")
    assert len(line) < 5000


def test_threads_of_a_function_do_not_hold_it(workers: Workers) -> None:
    body = "import threading, time\ndef f():\n    threading.Thread(target=time.sleep, args=[99]).start()\n    return ''"
    assert [workers.call(function(body), ()) for _ in range(3)] == [""] * 3


def test_workers_have_nothing_of_ours(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSQLPY_SECRET", "swordfish")
    body = "import os\ndef f():\n    return ' '.join(sorted(os.environ))"
    own = Workers(Settings(workers=1))
    try:
        assert workers.call(function(body), ()).split() == [
            "HOME",
            "LANG",
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "PATH",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONHASHSEED",
        ]
        stdin = function("import sys\ndef f():\n    return repr(sys.stdin.read())")
        assert own.call(stdin, ()) == "''"
    finally:
        own.close()


def test_a_process_that_forks_and_is_killed_while_a_worker_is_awaited_is_followed_by_another() -> None:
    pids = function("import os\ndef f():\n    return f'{os.getppid()} {os.getpid()}'")
    with contextlib.closing(Workers(Settings(workers=1))) as workers, ThreadPoolExecutor(1) as pool:
        forking, worker = map(int, workers.call(pids, ()).split())
        os.kill(forking, signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        asked = pool.submit(workers.call, pids, ())
        time.sleep(0.3)
        assert not asked.done()
        os.kill(forking, signal.SIGKILL)
        assert int(asked.result(60).split()[0]) != forking


def test_kills_lose_and_change_nothing(workers: Workers) -> None:
    slow = function(
        "import os, time\ndef f(n):\n    time.sleep(.002)\n    return str(n) + ' ' + str(os.getpid())", takes=[BIGINT]
    )
    pids: set[int] = set()
    over = threading.Event()

    def kill() -> None:
        for _ in range(20):
            if over.wait(0.05):
                return
            for pid in list(pids):
                pids.discard(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                break

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for n in range(400):
            number, pid = workers.call(slow, [n]).split()
            assert int(number) == n
            pids.add(int(pid))
    finally:
        over.set()
        killer.join()


def test_an_interrupted_call_leaves_its_answer_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = function("def f(a0):\n    return str(a0)\n", takes=(BIGINT,))
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        assert workers.call(echo, [1]) == "1"
        usual = pool._Worker._receive

        def interrupted(worker: pool._Worker, end: float) -> bytes:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(pool._Worker, "_receive", interrupted)
            workers.call(echo, [2])
        assert pool._Worker._receive is usual
        assert workers.call(echo, [3]) == "3"


def test_of_failures_and_prints_one_a_minute_is_told() -> None:
    times = iter([0.0, 1.0, 2.0, 3.0, 60.5, 61.0])
    seldom = Seldom(lambda: next(times))
    assert seldom.more("F", "ValueError") == 0
    assert seldom.more("F", "ValueError") is None
    assert seldom.more("F", "ValueError") is None
    assert seldom.more("F", "print") == 0
    assert seldom.more("F", "ValueError") == 2
    assert seldom.more("F", "ValueError") is None


def test_a_process_that_forks_and_is_killed_leaves_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = function("def f(a0):\n    return str(a0)\n", takes=(BIGINT,))
    with tempfile.TemporaryDirectory(dir="/tmp") as name, contextlib.closing(Workers(Settings(workers=1))) as workers:
        monkeypatch.setattr("tempfile.tempdir", name)  # the path of a socket is short
        for number in range(3):
            assert workers.call(echo, [number]) == str(number)
            assert len([*Path(name).iterdir()]) == 1
            assert workers._forks is not None
            workers._forks._process.kill()
            workers._forks._process.wait()
        workers.close()
        assert [*Path(name).iterdir()] == []


def test_many_threads_share_few_workers() -> None:
    own = Workers(Settings(workers=2))
    pid = function("import os, time\ndef f():\n    time.sleep(.005)\n    return str(os.getpid())")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.extend(own.call(pid, ()) for _ in range(10))) for _ in range(8)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        own.close()
    assert len(found) == 80
    assert len(set(found)) <= 2


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: Sequence[int], patience: float = 20) -> bool:
    end = time.monotonic() + patience
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


CHILD = (
    "import os, subprocess\ndef f():\n    p = subprocess.Popen(['sleep', '3600'])\n"
    "    return f'{os.getpid()} {p.pid} {os.getppid()}'"
)
SHOW_CHILD = f"""
import time
from ksqlpy.types import STRING
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers
print(Workers().call(Definition("F", "SCALAR", (), STRING, {CHILD!r}, "f", timeout_ms=20000), ()), flush=True)
time.sleep(3600)
"""


def test_nothing_is_left_after_close() -> None:
    own = Workers(Settings(workers=1))
    before = set(os.listdir(f"/proc/{os.getpid()}/fd"))
    pids = [int(p) for p in own.call(function(CHILD), ()).split()]
    own.close()
    assert gone(pids)
    assert len(os.listdir(f"/proc/{os.getpid()}/fd")) <= len(before) + 1
    with pytest.raises(EngineProblem):
        own.call(function(CHILD), ())


def test_workers_end_with_who_started_them() -> None:
    with subprocess.Popen([sys.executable, "-c", SHOW_CHILD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(p) for p in process.stdout.readline().split()]
        process.kill()
    assert len(pids) == 3
    assert gone(pids)


def test_without_python() -> None:
    own = Workers(Settings(executable="/nowhere/python"))
    with pytest.raises(EngineProblem, match="/nowhere/python") as caught:
        own.call(function(CHILD), ())
    assert caught.value.code == "python-missing"


def test_another_user(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may start processes of another user")
    own = Workers(Settings(workers=1, user="nobody"))
    try:
        shown = function("import os\ndef f():\n    return f'{os.getuid()} {os.getgroups()}'")
        import pwd

        assert own.call(shown, ()) == f"{pwd.getpwnam('nobody').pw_uid} []"
    finally:
        own.close()

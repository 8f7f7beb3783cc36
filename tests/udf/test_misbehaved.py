"""Functions in Python that fail oddly, or change what all functions of a worker share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksqlpy.types import BIGINT, STRING
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import CallFailed, Settings, Workers
from ksqlpy.udfs.seldom import PRINTS, Seldom
from tests.support.waiting import until
from tests.udf.calling import failure, function


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(Settings(workers=2))
    yield made
    made.close()


# ---------------------------------------------------------------- what is said of a failure


@pytest.mark.parametrize(
    ("raised", "kind", "reason"),
    [
        (
            r"type('Odd\nName: 5', (Exception,), {})('a\nb\r\x1b[31mc\u2028d\u202ee')",
            "Odd_Name:_5",
            "Odd Name: 5: a b  [31mc d e (line 2)",
        ),
        ("type('TimeLimit', (Exception,), {})('x')", "Exception", "TimeLimit: x (line 2)"),
        ("type('MemoryError', (Exception,), {})('x')", "Exception", "MemoryError: x (line 2)"),
        (r"type('\n', (Exception,), {})('x')", "Exception", " : x (line 2)"),
        ("ValueError('x' * 5000)", "ValueError", f"ValueError: {'x' * 978}… (line 2)"),
        (
            "type('C' * 5000, (Exception,), {})('x')",
            "C" * 99 + "…",
            "C" * 99 + "…: x (line 2)",
        ),
        (
            "type('Odd', (Exception,), {'__str__': lambda e: exit(3)})",
            "Odd",
            "Odd: its text cannot be made: SystemExit(3) (line 2)",
        ),
        (
            "type('Odd', (Exception,), {'__str__': lambda e: 5})",
            "Odd",
            "Odd: its text cannot be made: TypeError('__str__ returned non-string (type int)') (line 2)",
        ),
    ],
    ids=range(8),
)
def test_a_failure_is_one_line_and_its_kind_one_word(workers: Workers, raised: str, kind: str, reason: str) -> None:
    failed = failure(workers, function(f"def f():\n    raise {raised}"))
    assert (failed.kind, str(failed)) == (kind, reason)
    assert len(reason) <= 1000


def test_arguments_that_are_too_large() -> None:
    body = "def f(*all):\n    return str(len(all))"
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        failed = failure(workers, function(body, takes=[STRING]), "x" * 10_000_000)
        assert failed.kind == "Arguments"
        assert str(failed) == "an argument is too large: 10,000,001 bytes or more, and 10,000,000 are allowed"
        failed = failure(workers, function(body, takes=[STRING] * 7), *["x" * 9_999_990] * 7)
        assert str(failed) == "the arguments are too large: 69,999,973 bytes, and 67,108,864 are allowed"
        assert workers.call(function(body, takes=[STRING] * 3), ["x" * 9_999_990] * 3) == "3"


def test_a_state_that_is_too_large(workers: Workers) -> None:
    """``init`` is the method that is called here; those that Spark calls have the same limit."""
    for size, said in ((1 << 20) - 100, None), (1 << 20, "the state is too large: 1,048,586 bytes, and 1,048,576 are"):
        body = f"class f:\n    def init(self): return 'x' * {size}"
        aggregate = Definition("F", "AGGREGATE", (), STRING, body, "f", state=STRING, timeout_ms=20_000)
        if said is None:
            assert len(workers.call(aggregate, ())) == size
        else:
            assert str(failure(workers, aggregate)).startswith(said)


def test_of_many_kinds_few_are_told() -> None:
    seldom = Seldom(lambda: 0.0)
    told = [n for n in range(1000) if seldom.more("F", f"Error{n}") is not None]
    assert len(told) <= 21
    assert seldom.more("F", PRINTS) == 0
    assert seldom.more("G", "Error0") == 0


def test_what_is_written_past_pythons_streams_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    body = "import os\ndef f():\n    for n in range(300): os.write(2, b'a\\x1b[2J' + b'x' * 65536)\n    return 'well'"
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        assert workers.call(function(body), ()) == "well"
        lines = until(lambda: [r.getMessage() for r in caplog.records])
    assert lines and lines[0] == f"Python: a [2J{'x' * 995}"
    assert max(map(len, lines)) <= 1008


# ---------------------------------------------------------------- what calls leave behind

SHARED = function(
    "import os, sys\ndef f():\n    print('seen')\n"
    "    return f'{os.getcwd()} {sys.getrecursionlimit()} {sys.stdout.closed} {sys.stderr is sys.stdout}'"
)


@pytest.mark.parametrize(
    "body",
    [
        "import sys\ndef f():\n    sys.setrecursionlimit(60)\n    return ''",
        "import sys\ndef f():\n    sys.setrecursionlimit(60)\n    return f()",
        "import os\ndef f():\n    os.chdir('/tmp')\n    return 5",
        "import os\ndef f():\n    os.fchdir(os.open('/tmp', os.O_RDONLY))\n    return ''",
        "import sys\ndef f():\n    sys.stdout.close()\n    return ''",
        "import io, sys\ndef f():\n    sys.stdout, sys.stderr = io.StringIO(), None\n    return ''",
        "import os\ndef f():\n    for n in range(3): os.close(n)\n    return ''",
        "import io, os, sys\nsys.stdout = io.StringIO()\ndef f():\n    return ''",
        "import os\nos.chdir('/tmp')\n1 / 0\ndef f():\n    return ''",
    ],
)
def test_what_all_functions_share_is_as_before(body: str, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        before = workers.call(SHARED, ())
        with contextlib.suppress(CallFailed):
            workers.call(function(body), ())
        workers.seldom = workers._forks.seldom = Seldom()  # type: ignore[union-attr]  # prints are told again
        caplog.clear()
        assert workers.call(SHARED, ()) == before == "/ 1000 False True"
        assert [r.getMessage() for r in caplog.records] == ["function F prints: seen\n"]


def test_what_a_module_changes_when_it_is_loaded_stays() -> None:
    body = "import sys\nsys.setrecursionlimit(9000)\ndef f(n):\n    return n and 1 + f(n - 1)"
    deep = function(body, BIGINT, [BIGINT])
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        assert [workers.call(deep, [n]) for n in (5000, 5000)] == [5000, 5000]


def test_an_alarm_of_one_function_is_no_failure_of_another() -> None:
    alarmed = function("import signal\ndef f():\n    signal.setitimer(signal.ITIMER_REAL, .05)\n    return ''")
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        workers.call(alarmed, ())
        assert workers.call(function("import time\ndef f():\n    time.sleep(.3)\n    return 'well'"), ()) == "well"


def test_a_function_has_alarms_of_its_own(workers: Workers) -> None:
    body = (
        "import signal, time\nclass Late(Exception): pass\ndef late(*_): raise Late\ndef f():\n"
        "    signal.signal(signal.SIGALRM, late)\n    signal.setitimer(signal.ITIMER_REAL, .05)\n"
        "    try:\n        time.sleep(3600)\n    except Late:\n        return 'late'"
    )
    assert workers.call(function(body), ()) == "late"


def test_workers_that_end_while_they_load_are_not_started_for_each_row() -> None:
    dying = function("import os\nos._exit(0)\ndef f(): pass")
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        told = {str(failure(workers, dying)) for _ in range(50)}
        assert told == {"its worker has ended 3 times"}
        assert workers._forks is not None
        assert workers._forks._last <= 6  # a second may have passed between two of them


def test_imports_that_fail_are_not_begun_for_each_row(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    failing = function(f"open({str(seen)!r}, 'a').write('.')\nimport nowhere\ndef f(): pass")
    with contextlib.closing(Workers(Settings(workers=1))) as workers:
        told = {str(failure(workers, failing)) for _ in range(50)}
        assert told == {"ModuleNotFoundError: No module named 'nowhere' (line 2)"}
        assert len(seen.read_text("utf-8")) <= 2  # a second may have passed between two of them
        for number in range(3):  # who asks for the load itself hears of each
            with pytest.raises(CallFailed):
                workers.load(failing)
            assert len(seen.read_text("utf-8")) >= number + 2

"""The command: statements for a server, files, properties, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.shell.commands import split
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]


def test_table(ksqlpy: Run, engine: FakeEngine) -> None:
    done = ksqlpy("-e", "show streams")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Name  Topic  Key format  Value format  Windowed",
        "----  -----  ----------  ------------  --------",
        "S     t      KAFKA       JSON          false",
    ]
    assert engine.calls == [("show streams;", {})]


def test_statements_go_one_by_one(ksqlpy: Run, engine: FakeEngine) -> None:
    done = ksqlpy("-e", "CREATE STREAM `a;b` -- no; end\n; /* ; */ CREATE STREAM 'x;y';;")
    assert done.out == "Stream created\nStream created\n"
    assert [sql for sql, _ in engine.calls] == ["CREATE STREAM `a;b` -- no; end\n;", "CREATE STREAM 'x;y';"]


def test_json(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "SHOW STREAMS; SELECT * FROM rows EMIT CHANGES LIMIT 2;", "--output", "json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["@type"] == "streams"
    assert lines[1:] == [{"ID": 0, "name": "row 0"}, {"ID": 1, "name": "row 1"}]


def test_rows(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "select * from rows emit changes limit 2;")
    assert done.out.splitlines() == [
        "ID            | name",
        "--------------+-----------------",
        "            0 | row 0",
        "            1 | row 1",
    ]


def test_what_a_pull_query_reads_may_not_be_the_last_word(ksqlpy: Run, engine: FakeEngine) -> None:
    ask = "SELECT * FROM known LIMIT 1;"
    engine.behind = {"CTAS_N_1": 5213, "CTAS_M_3": 1, "CTAS_Ü_5": None}
    done = ksqlpy("-e", ask, "--output", "csv")
    waits = "SET 'ksqlpy.pull.wait.ms'='10000'; lets SELECT wait for the rest"
    assert (done.code, done.out) == (0, "ID,name\n0,row 0\n")
    assert done.err.split("\n\n") == [
        f"\nquery CTAS_N_1 has read all but 5,213 records; {waits}",
        f"query CTAS_M_3 has read all but 1 record; {waits}",
        f"query CTAS_Ü_5 has read none of its records yet; {waits}\n",
    ]
    engine.behind = {}
    assert ksqlpy("-e", ask).err == ""


def test_print(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "PRINT 'rows' LIMIT 2;")
    assert (done.code, done.out) == (0, "Key format: KAFKA_INT\nrowtime: 0, value: row 0\nrowtime: 1, value: row 1\n")


def test_session_properties(ksqlpy: Run, engine: FakeEngine) -> None:
    sql = """SET 'auto.offset.reset'='earliest'; ECHO; set 'commit.interval.ms' = '2000';
             SELECT * FROM rows EMIT CHANGES LIMIT 0; UNSET 'auto.offset.reset'; ECHO;"""
    assert ksqlpy("-e", sql, "-D", "ksql.output.topic.name.prefix=p").code == 0
    base = {"ksql.output.topic.name.prefix": "p"}
    assert [p for _, p in engine.calls] == [
        {**base, "auto.offset.reset": "earliest"},
        {**base, "auto.offset.reset": "earliest", "commit.interval.ms": "2000"},
        {**base, "commit.interval.ms": "2000"},
    ]


@pytest.mark.parametrize(
    ("sql", "code"),
    [("SET 'auto.offset.rest'='x';", "unknown-property"), ("SET a='b';", "bad-set"), ("UNSET;", "bad-unset")],
)
def test_bad_set(ksqlpy: Run, engine: FakeEngine, sql: str, code: str) -> None:
    done = ksqlpy("-e", f"CREATE STREAM s; {sql} CREATE STREAM t;")
    assert done.code == 1
    assert f"error[{code}]" in done.err and "^^^" in done.err
    assert len(engine.calls) == 1


def test_variables_go_with_later_statements(ksqlpy: Run, engine: FakeEngine) -> None:
    assert ksqlpy("-e", "DEFINE town = 'Oslo'; ECHO; UNDEFINE Town; ECHO;").code == 0
    assert engine.variables == [{}, {"TOWN": "Oslo"}, {"TOWN": "Oslo"}, {}]


def test_script(ksqlpy: Run, engine: FakeEngine, tmp_path: Path) -> None:
    script = tmp_path / "start.sql"
    script.write_text("SET 'commit.interval.ms'='3000'; DEFINE a = 'b';\nCREATE STREAM s;\nSHOW STREAMS;")
    done = ksqlpy("-e", f"RUN SCRIPT '{script}'; ECHO;")
    assert done.code == 1
    assert "error[not-in-script]: a script cannot hold SHOW" in done.err
    assert "line 3, column 1" in done.err
    assert [c for c, _ in engine.calls] == ["DEFINE a = 'b';", "CREATE STREAM s;"]
    assert engine.calls[-1][1] == {"commit.interval.ms": "3000"}
    assert engine.variables[-1] == {"A": "b"}
    assert "error[file-unreadable]" in ksqlpy("-e", "RUN SCRIPT 'nowhere.sql';").err
    assert "error[bad-run-script]" in ksqlpy("-e", "RUN SCRIPT start;").err


def test_error_of_a_file_has_its_place_there(ksqlpy: Run, engine: FakeEngine, tmp_path: Path) -> None:
    file = tmp_path / "some.sql"
    file.write_text("CREATE STREAM s;\n\n  BAD thing;\nCREATE STREAM t;\n")
    done = ksqlpy("run", str(file))
    assert (done.code, done.out) == (1, "Stream created\n")
    assert done.err.splitlines() == [
        "error[bad-thing]: There is no thing",
        "  --> line 3, column 7",
        "   |",
        " 3 |   BAD thing;",
        "   |       ^^^^",
        " = hint: did you mean `THINGS`?",
    ]
    assert len(engine.calls) == 2


def test_file_needs_its_last_semicolon(ksqlpy: Run, engine: FakeEngine, tmp_path: Path) -> None:
    file = tmp_path / "some.sql"
    file.write_text("CREATE STREAM s;\nSHOW STREAMS")
    ksqlpy("run", str(file))
    assert engine.calls[-1][0] == "SHOW STREAMS"  # as written: the server refuses it


def test_text_without_tokens_runs_nothing(ksqlpy: Run, engine: FakeEngine) -> None:
    done = ksqlpy("-e", "CREATE STREAM s; SHOW 'streams")
    assert done.code == 1
    assert "error[unterminated-string]" in done.err
    assert engine.calls == []


def test_control_characters_are_shown(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "HOSTILE; ")
    assert "\x1b" not in done.out and "\u202e" not in done.out and "\x07" not in done.out
    assert "\\u001b[31mred\\u202e" in done.out
    assert "bell \\x07" in done.out


def test_unforeseen_failure_of_the_server(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "BROKEN;")
    assert done.code == 1
    assert "error[internal-error]: RuntimeError: nobody saw this coming" in done.err


def test_query_that_fails_on_the_way(ksqlpy: Run) -> None:
    done = ksqlpy("-e", "SELECT * FROM fails EMIT CHANGES LIMIT 1;")
    assert (done.code, done.err) == (1, "error[query-failed]: the query failed\n")
    assert "row 0" in done.out


def test_split() -> None:
    pieces = split(" SELECT 1;\n-- x\nb", complete=True)
    assert [(p.text, p.start) for p in pieces] == [("SELECT 1;", 1), ("b;", 16)]
    assert split(" ; ;-- nothing\n", complete=True) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["nonsense"], 2),
        (["-e"], 2),
        (["-e", "x", "run", "f"], 2),
        (["run"], 2),
        (["-D", "novalue", "-e", "x"], 2),
        (["--output", "xml", "-e", "x"], 2),
        (["-e", "x", "--server", "ftp://x"], 1),
        (["run", "/no/such/file.sql"], 1),
        (["server", "--config", "/no/such/file"], 1),
        (["server", "--port", "70000"], 1),
        (["server", "-D", "no.such.property=1"], 1),
    ],
)
def test_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.out or captured.err
    assert "Traceback" not in captured.err


def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", "SHOW STREAMS", "--server", "http://127.0.0.1:9", "--wait", "0"]) == 1
    assert "error[server-unavailable]: no server answers at http://127.0.0.1:9" in capsys.readouterr().err


def test_options_before_and_after_the_command(url: str, engine: FakeEngine, tmp_path: Path) -> None:
    file = tmp_path / "some.sql"
    file.write_text("ECHO;")
    assert main(["--server", url, "-D", "a=1", "run", str(file)]) == 0
    assert main(["run", str(file), "--server", url, "-D", "a=2"]) == 0
    assert [p for _, p in engine.calls] == [{"a": "1"}, {"a": "2"}]


def test_process(start: Start, url: str) -> None:
    process = start("-e", "SHOW STREAMS; BAD thing;", "--server", url)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert out.startswith("Name")
    assert err.startswith("error[bad-thing]")


def test_interrupt_closes_the_query(start: Start, url: str, engine: FakeEngine) -> None:
    process = start("-e", "SELECT * FROM live EMIT CHANGES;", "--server", url)
    assert process.stdout is not None
    assert process.stdout.readline() and process.stdout.readline()
    push = engine.pushes["q1"]
    push.source.put([7, "seven"])
    assert process.stdout.readline().split() == ["7", "|", "seven"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, "\nquery q1 is closed\n")
    assert push.closed.wait(5)


def test_reader_that_leaves(url: str, engine: FakeEngine) -> None:
    read, write = os.pipe()
    sql = "SELECT * FROM rows EMIT CHANGES LIMIT 1000000;"
    command = [sys.executable, "-m", "ksqlpy", "--server", url, "-e", sql]
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    os.read(read, 10)
    os.close(read)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (141, "")
    assert until(lambda: not engine.pushes, every=0.01)


def test_nothing_heavy_is_imported(url: str) -> None:
    code = f"""import sys
from ksqlpy.__main__ import main
assert main(["-e", "SHOW STREAMS", "--server", {url!r}]) == 0
heavy = {{"pyspark", "fastapi", "hypercorn", "pydantic", "confluent_kafka", "ksqlpy.runtime"}} & set(sys.modules)
assert not heavy, heavy"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")

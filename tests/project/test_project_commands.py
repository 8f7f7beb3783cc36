"""The commands fmt, check, plan and apply: options, exit codes, what stands where."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.project.engine_server import EngineServer, Ran

Command = Callable[..., Ran]

WRITTEN = "show streams;"
WANTED = "SHOW STREAMS;\n"

SOURCE = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic = 's', value_format = 'JSON', partitions = 1);\n"
SUMS = "CREATE TABLE t AS SELECT id, SUM(v) AS sum FROM s GROUP BY id;\n"


# ---------------------------------------------------------------- fmt


def test_fmt_writes_files(command: Command, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / ".hidden").mkdir()
    files = [tmp_path / "a.sql", tmp_path / "below" / "b.sql", tmp_path / ".hidden" / "c.sql", tmp_path / "d.txt"]
    for file in files:
        file.write_text(WRITTEN)
    files[0].chmod(0o640)
    code, out, err = command("fmt", tmp_path)
    assert code == 0
    assert out == f"formatted: {files[0]}\nformatted: {files[1]}\n"
    assert err == "2 of 2 files changed\n"
    assert [f.read_text() for f in files] == [WANTED, WANTED, WRITTEN, WRITTEN]
    assert files[0].stat().st_mode & 0o777 == 0o640
    assert command("fmt", tmp_path)[2] == "0 of 2 files changed\n"
    assert {p.name for p in tmp_path.iterdir()} == {"a.sql", "below", ".hidden", "d.txt"}


def test_fmt_check_and_diff_change_nothing(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(WRITTEN)
    assert command("fmt", "--check", file) == (1, f"would change: {file}\n", "1 of 1 file would change\n")
    code, out, err = command("fmt", "--diff", file)
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == ["-show streams;", "+SHOW STREAMS;"]
    assert command("fmt", "--diff", "--check", file)[0] == 1
    assert file.read_text() == WRITTEN
    file.write_text(WANTED)
    assert command("fmt", "--check", file)[0] == 0


def test_fmt_leaves_what_is_no_sql(command: Command, tmp_path: Path) -> None:
    good, bad = tmp_path / "a.sql", tmp_path / "b.sql"
    good.write_text(WRITTEN)
    bad.write_text("show streams;\nshow strems;")
    code, _, err = command("fmt", tmp_path)
    assert code == 1
    assert err.startswith(f"{bad}:2:6: error[syntax-error]:") and "2 | show strems;" in err
    assert bad.read_text() == "show streams;\nshow strems;"
    assert good.read_text() == WANTED


def test_fmt_goes_through_links(command: Command, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    file, link = tmp_path / "kept" / "a.sql", tmp_path / "a.sql"
    file.write_text(WRITTEN)
    link.symlink_to(file)
    assert command("fmt", link)[0] == 0
    assert link.is_symlink() and file.read_text() == WANTED


def test_fmt_reads_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    given(WRITTEN)
    assert command("fmt", "-") == (0, WANTED, "")
    given(WRITTEN)
    assert command("fmt", "--check", "-") == (1, "", "")
    given(WRITTEN)
    assert command("fmt", "--diff", "-")[1].splitlines()[0] == "--- <stdin>"
    given("shw;")
    code, out, err = command("fmt", "-")
    assert (code, out) == (1, "") and err.startswith("<stdin>:1:1: error[unknown-statement]")
    assert "error[bad-paths]" in command("fmt", "-", "x.sql")[2]
    assert command("fmt")[0] == 2


# ---------------------------------------------------------------- check


def test_check_tells_people_and_machines(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(SOURCE + "SELECT w FROM s EMIT CHANGES;")
    code, out, _ = command("check", file)
    assert code == 1
    assert out.startswith(f"{file}:2:8: error[unknown-column]: there is no column W\n")
    assert out.endswith("\n\n2 statements in 1 file: 1 error\n")
    code, out, _ = command("check", "--output", "json", tmp_path)
    [fault] = map(json.loads, out.splitlines())
    assert code == 1
    assert fault == {
        "file": str(file),
        "line": 2,
        "column": 8,
        "length": 1,
        "severity": "error",
        "code": "unknown-column",
        "message": "there is no column W",
        "hint": "the columns are ID, V",
    }
    file.write_text(SOURCE)
    assert command("check", file, "--output", "json") == (0, "", "")


def test_check_takes_variables_and_properties(command: Command, tmp_path: Path) -> None:
    file, values = tmp_path / "a.sql", tmp_path / "dev.vars"
    file.write_text("CREATE STREAM s (id ${type} KEY, v INT) WITH (kafka_topic = 's');")
    values.write_text("# of developers\n\ntype = DOUBL\n")
    wanted = ("-D", "ksql.persistence.default.format.value=JSON")
    assert "error[unknown-variable]" in command("check", file, *wanted)[1]
    assert "error[no-format]" in command("check", file, "-d", "type=INT")[1]
    assert "there is no type DOUBL" in command("check", file, "--vars", values, *wanted)[1]
    assert command("check", file, "--vars", values, "-d", "type=INT", *wanted)[0] == 0
    values.write_text("type\n")
    assert "line 1: 'type' is not NAME=VALUE" in command("check", file, "--vars", values)[2]
    assert command("check", file, "-d", "type")[0] == 2


def test_files_that_are_not_there(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"\xff")
    for arguments, problem in (
        (("check", tmp_path / "no.sql"), "no-such-file"),
        (("fmt", tmp_path / "a.sql"), "file-unreadable"),
    ):
        code, _, err = command(*arguments)
        assert code == 1 and f"error[{problem}]" in err
    (tmp_path / "a.sql").unlink()
    assert "error[no-files]" in command("check", tmp_path)[2]


# ---------------------------------------------------------------- plan, apply


def test_plan_exit_codes(command: Command, url: str, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(SOURCE)
    plan = ("plan", tmp_path, "--server", url)
    assert command(*plan) == (0, "+ stream S\n\nPlan: 1 to create, 0 unchanged\n", "")
    assert command(*plan, "--detailed-exitcode")[0] == 2
    code, out, _ = command(*plan, "--output", "json")
    data = json.loads(out)
    assert code == 0
    assert [(c["action"], c["kind"], c["name"]) for c in data["changes"]] == [("create", "stream", "S")]
    assert not data["losesState"] and not data["errors"]
    assert command("apply", tmp_path, "--server", url)[0] == 0
    assert command(*plan, "--detailed-exitcode")[0] == 0
    file.write_text(SOURCE.replace("INT)", "INTT)"))
    code, out, err = command(*plan, "--detailed-exitcode")
    assert (code, out) == (1, "") and err.startswith(f"{file}:1:")
    code, out, err = command(*plan, "--output", "json")
    assert (code, err) == (1, "") and json.loads(out)["errors"][0]["code"] == "unknown-type"


def test_what_the_server_would_refuse_is_known_before_anything_is_done(
    command: Command, server: EngineServer, url: str, tmp_path: Path
) -> None:
    lacking = "CREATE STREAM s2 (id INT KEY, v INT) WITH (kafka_topic = 'no', value_format = 'JSON');"
    (tmp_path / "a.sql").write_text(SOURCE + lacking)
    for name in ("plan", "apply"):
        code, out, err = command(name, tmp_path, "--server", url)
        assert code == 1 and "+ stream S2" in out
        assert "error[missing-topic]: topic no does not exist" in err
        assert "--> line 1, column 15" in err and " 1 | CREATE STREAM s2 (" in err
    assert not server.engine.catalog.sources


def test_apply_loses_no_state_unasked(command: Command, server: EngineServer, url: str, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    apply = ("apply", tmp_path, "--server", url)
    file.write_text(SOURCE + SUMS)
    assert command(*apply)[0] == 0
    file.write_text(SOURCE + SUMS.replace("SUM(", "MAX("))
    before = server.engine.catalog
    code, _, err = command(*apply)
    assert code == 1 and "error[needs-yes]: the state of T would be lost" in err
    assert command(*apply, "--dry-run")[0] == 0
    code, out, _ = command(*apply, "--dry-run", "--output", "json")
    data = json.loads(out)
    assert code == 0 and data["losesState"] and not data["done"]
    assert server.engine.catalog is before
    code, out, _ = command(*apply, "--yes")
    assert code == 0 and "[1/2] DROP TABLE T;\n[2/2] CREATE TABLE T AS" in out


def test_apply_in_json(command: Command, url: str, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(SOURCE)
    apply = ("apply", tmp_path, "--server", url, "--output", "json")
    code, out, err = command(*apply)
    data = json.loads(out)
    assert code == 0 and data["done"] and len(data["statements"]) == 1
    assert err.startswith("+ stream S\n") and "[1/1] CREATE STREAM S" in err
    code, out, _ = command(*apply)
    assert code == 0 and json.loads(out)["done"] and not json.loads(out)["statements"]
    (tmp_path / "a.sql").write_text("CREATE NOTHING;")
    code, out, err = command(*apply)
    assert (code, err) == (1, "") and json.loads(out)["errors"] and not json.loads(out)["done"]


@pytest.mark.parametrize("name", ["plan", "apply", "check"])
def test_a_form_that_a_command_does_not_have(command: Command, url: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.sql").write_text(SOURCE)
    code, out, err = command("--server", url, "--output", "csv", name, tmp_path)
    assert (code, out) == (1, "") and f"error[no-such-output]: {name} does not print csv" in err
    assert "--output table or json" in err


def test_apply_goes_on_after_an_error(command: Command, server: EngineServer, url: str, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(SOURCE + SUMS + "CREATE STREAM u AS SELECT * FROM s;")
    server.engine.failing = {"T"}
    code, out, err = command("apply", tmp_path, "--server", url)
    assert code == 1 and "error[no-room]: there is no room for T" in err
    told = [line.split(" AS ")[0] for line in out.splitlines() if "] " in line or "not done" in line]
    assert told[1:] == ["[2/3] failed: CREATE TABLE T", "      not done: CREATE STREAM U"]
    assert told[0].startswith("[1/3] CREATE STREAM S")
    server.engine.failing = set()
    code, out, _ = command("apply", tmp_path, "--server", url)
    assert code == 0 and out.endswith("done: 2 statements\n")
    assert set(server.engine.catalog.sources) == {"S", "T", "U"}


def test_apply_asks_at_a_terminal(command: Command, server: EngineServer, url: str, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(SOURCE + SUMS)
    assert command("apply", tmp_path, "--server", url)[0] == 0
    file.write_text(SOURCE + SUMS.replace("SUM(", "MAX("))

    def answered(answer: str, told: str) -> str:
        arguments = ["-m", "ksqlpy", "apply", str(tmp_path), "--server", url]
        child = pexpect.spawn(sys.executable, arguments, encoding="utf-8", timeout=60)
        child.expect_exact("The state of T will be lost. Go on? Type yes: ")
        child.sendline(answer)
        child.expect_exact(told)
        child.expect(pexpect.EOF)
        child.close()
        return server.engine.catalog.sources["T"].statement

    assert "SUM(v)" in answered("no", "nothing was changed")
    assert "MAX(v)" in answered("yes", "done: 2 statements")

"""Where lines go, and what becomes of them when they cannot go there: the service never waits, and says so."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.audit import Audit, Decision, Outcome
from ksqlpy.audit.file import RotatedFile
from ksqlpy.audit.topic import Topic
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.request import Request
from tests.support.waiting import until

SHOW = Decision("SHOW", Outcome.ALLOWED, text="SHOW STREAMS;")


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class Held:
    """A place that takes lines as long as it is not held."""

    name = "held"

    def __init__(self) -> None:
        self.problem = ""
        self.free = threading.Event()
        self.lines: list[bytes] = []

    def write(self, lines: Sequence[bytes]) -> int:
        if lines:
            self.free.wait()
        self.lines += lines
        return 0

    def close(self) -> int:
        return 0


def test_nobody_waits_for_a_place_that_takes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    place = Held()
    audit = Audit([place], room=10)
    for _ in range(1000):
        audit.note(SHOW)
    assert audit.lost["queue"] >= 980  # 10 that wait, and some that were taken before
    place.free.set()
    audit.close()
    assert len(place.lines) + audit.lost["queue"] == 1000
    [said] = [r.getMessage() for r in caplog.records if r.name == "ksqlpy.audit"]
    assert (
        said == f"{audit.lost['queue']} more lines of the audit log were not written (in all queue: "
        f"{audit.lost['queue']})"
    )


def test_a_request_with_many_statements_does_not_go_unseen() -> None:
    place = Held()
    audit = Audit([place], room=10)
    insert = Decision("INSERT", Outcome.ALLOWED, text="INSERT INTO s VALUES (1);", request=Request("one"))
    audit.note(*[insert] * 30_000)
    place.free.set()
    audit.close()
    [line] = map(json.loads, place.lines)
    assert line["count"] == 30_000 and audit.lost["queue"] == 0


def test_a_decision_that_cannot_be_said_hides_no_other_one() -> None:
    place = Held()
    place.free.set()
    audit = Audit([place])
    odd = Decision("ODD", Outcome.ALLOWED, more={"what": object()})
    audit.note(SHOW)
    audit.note(odd, SHOW)
    audit.note(SHOW)
    audit.close()
    assert [json.loads(line)["kind"] for line in place.lines] == ["SHOW"] * 3 and audit.lost["queue"] == 1


def test_statements_that_wait_are_bounded_by_their_length() -> None:
    place = Held()
    audit = Audit([place])
    long = Decision("SELECT", Outcome.ALLOWED, text=f"SELECT {'a' * 2**20} FROM s;")
    for _ in range(100):
        audit.note(long)
    assert audit.lost["queue"] >= 100 - 64 - 64  # as many as there is room for, and some that were taken before
    assert audit._text <= 2**26
    place.free.set()
    audit.close()
    assert len(place.lines) + audit.lost["queue"] == 100
    assert all(len(line) < 20_000 for line in place.lines)


def test_what_waits_is_written_at_the_end(tmp_path: Path) -> None:
    audit = Audit([RotatedFile(tmp_path / "audit", 10_000_000, 1)])
    requests = [Request(str(n)) for n in range(5000)]
    audit.note(*(Decision("SHOW", Outcome.ALLOWED, request=r) for r in requests))
    audit.close()
    assert [line["request"] for line in lines(tmp_path / "audit")] == [r.id for r in requests]
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o600


def test_equal_decisions_of_a_request_are_one_line(tmp_path: Path) -> None:
    audit, one, other = Audit([RotatedFile(tmp_path / "audit", 10_000_000, 1)]), Request("one"), Request("other")

    def inserted(value: int, request: Request) -> Decision:
        return Decision("INSERT", Outcome.ALLOWED, text=f"INSERT INTO s VALUES ({value});", request=request, seconds=1)

    refused = Decision.failed("INSERT", KsqlError("x", "y", error_code=40300), text="INSERT INTO s VALUES (1);")
    audit.note(*(inserted(n, one) for n in range(7)), inserted(1, other), refused, refused)
    audit.close()
    told = [(d["request"], d.get("count", 1), d["ms"], d["decision"]) for d in lines(tmp_path / "audit")]
    assert told == [
        ("one", 7, 7000, "allowed"),
        ("other", 1, 1000, "allowed"),
        *[(None, 1, 0, "refused")] * 2,  # of no request: they are no one's
    ]


def test_a_file_is_followed_by_new_ones_up_to_a_number(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "audit", 100, 2)
    for n in range(20):
        assert file.write([b"%029d\n" % n] * 2) == 0
    file.close()
    found = {f.name: f.read_bytes() for f in tmp_path.iterdir()}
    assert set(found) == {"audit", "audit.1", "audit.2"} and all(len(data) <= 100 for data in found.values())
    whole = found["audit.2"] + found["audit.1"] + found["audit"]
    assert whole == b"".join(b"%029d\n" % (n // 2) for n in range(40))[-len(whole) :]


def test_no_older_files_may_be_wanted(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "audit", 100, 0)
    for n in range(10):
        file.write([b"%049d\n" % n])
    file.close()
    assert [f.name for f in tmp_path.iterdir()] == ["audit"]
    assert (tmp_path / "audit").read_bytes() == b"%049d\n%049d\n" % (8, 9)


def test_a_line_that_was_cut_by_a_kill_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "audit").write_bytes(b'{"a": 1}\n{"b"')
    file = RotatedFile(tmp_path / "audit", 1000, 1)
    file.write([b'{"c": 3}\n'])
    file.close()
    assert (tmp_path / "audit").read_bytes() == b'{"a": 1}\n{"b"\n{"c": 3}\n'


def test_a_file_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    config = Config.of({"ksqlpy.audit.file": str(tmp_path / "no such folder" / "audit")})
    with pytest.raises(ConfigProblem, match="cannot be written: no such file or directory") as e:
        Audit.of(lambda: config)
    assert e.value.code == "audit-file"
    assert Audit.of(lambda: Config.of({})) is None


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 64 KB."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("nobody but root mounts a small disk")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_whole_lines_and_they_are_counted(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit([RotatedFile(small_disk / "audit", 10_000_000, 1)], say=0.0)
    told = 0
    while not audit.lost["file"]:
        audit.note(*(Decision("SHOW", Outcome.ALLOWED, request=Request(str(told + n))) for n in range(10)))
        told += 10
        assert until(lambda: not audit._waiting, 5, every=0.005)
    assert until(lambda: "no space left on device" in caplog.text, 5)
    (small_disk / "audit").unlink()  # somebody makes room
    lost = audit.lost["file"]
    last = Decision("SHOW", Outcome.ALLOWED, request=Request("last"))
    audit.note(last)
    audit.close()
    assert audit.lost["file"] == lost
    assert [d["request"] for d in lines(small_disk / "audit")] == ["last"]


def test_no_line_is_cut_on_a_full_disk(small_disk: Path) -> None:
    file = RotatedFile(small_disk / "audit", 10_000_000, 1)
    lost = sum(file.write([b"x" * 999 + b"\n"] * 7) for _ in range(20))
    written = (small_disk / "audit").read_bytes()
    file.close()
    assert lost and written.count(b"\n") == len(written) // 1000 == 140 - lost and len(written) % 1000 == 0


def test_a_device_that_takes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit([RotatedFile(Path("/dev/full"), 10_000_000, 1)], say=3600.0)
    for _ in range(50):
        audit.note(SHOW)
        assert until(lambda: not audit._waiting, 5, every=0.005)
    assert until(lambda: audit.lost["file"] == 50, 5)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert len(said) == 1 and said[0].endswith(": file: no space left on device")  # once in that time
    audit.close()


def test_brokers_that_are_away(caplog: pytest.LogCaptureFixture) -> None:
    with_nobody = KafkaConnection("127.0.0.1:1")
    audit = Audit([Topic(lambda: with_nobody, "s_")], say=0.0)
    audit.note(SHOW)
    assert until(lambda: audit.lost["topic"] == 1)
    audit.close()
    assert "topic: 1): topic: " in caplog.text


def test_brokers_that_are_not_known_yet() -> None:
    audit = Audit([Topic(lambda: KafkaConnection(""), "s_")], say=3600.0)
    audit.note(SHOW)
    audit.close()
    assert audit.lost == {"queue": 0, "topic": 1}

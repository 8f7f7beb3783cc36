"""``ksqlpy dev`` in a terminal: the shell comes, works, and takes everything with it when it is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import psutil
import pytest

pytest.importorskip("ksqlpy.commands.shell")


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process")
def test_leaving_the_shell_ends_everything(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1",
        "TERM": "xterm",
    }
    dev = pexpect.spawn(
        sys.executable,
        ["-m", "ksqlpy", "dev", "--port", "0", "-D", "ksqlpy.warm.up=false"],
        env=environment,
        encoding="utf-8",
        timeout=120,
        dimensions=(40, 120),
    )
    try:
        dev.expect(r"Kafka   127\.0\.0\.1:(\d+)")
        port = dev.match[1]
        dev.expect(r"server  http://127\.0\.0\.1:\d+")
        dev.expect(r"page    http://127\.0\.0\.1:\d+/ui/")
        dev.expect_exact(f"data    stays in {tmp_path / 'data' / 'ksqlpy' / 'local'}")
        dev.expect("ksql> ")
        dev.send("CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);\r")
        dev.expect("Stream created")
        dev.expect("ksql> ")  # before it the terminal takes Ctrl-D for itself
        below = psutil.Process(dev.pid).children(recursive=True)
        dev.sendeof()
        dev.expect(pexpect.EOF)
        dev.close()
    finally:
        dev.close(force=True)
    assert dev.exitstatus == 0
    _, alive = psutil.wait_procs(below, timeout=15)
    assert below and alive == []
    assert list(tmp_path.glob("ksqlpy-*")) == []
    kept = tmp_path / "data" / "ksqlpy" / "local" / "kafka"
    assert ((kept / "port").read_text().strip(), kept.stat().st_mode & 0o077) == (port, 0)

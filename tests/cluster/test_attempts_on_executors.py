"""An executor refuses a task of a query that Spark tries again, also one that gets no row.

Spark tries the tasks of a lost executor again. Near the end of a batch such an attempt finds no time left to read, and
would end in order, as if nothing had been read and written by the first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys, threading, time
from pathlib import Path
from ksqlpy.spark.session import end_session, start_session

session = start_session("local-cluster[1,2,1024]", "512m", Path(sys.argv[1]))
tasks = session._jvm.ksqlpy.internals.Tasks
spark = session.sparkContext._jsc.sc()

def kill():
    while not (found := list(tasks.ids(spark, "Q"))):
        time.sleep(0.05)
    time.sleep(2)
    spark.killTaskAttempt(int(found[0]), True, "a test")

said = {}
for name, query in (("another", None), ("of a query", "Q")):
    session.sparkContext.setLocalProperty("ksqlpy.query", query)
    if query:
        threading.Thread(target=kill, daemon=True).start()
    try:
        # Neither attempt gives a row.
        rows = session.range(0, 1, 1, 1).where("java_method('java.lang.Thread', 'sleep', 5000L) = 'a row'")
        said[name] = f"{len(rows.collect())} rows"
    except Exception as e:
        said[name] = str(e)
print("SAID " + json.dumps(said))
end_session(session)
"""


@pytest.mark.slow
def test_a_second_attempt_without_rows_fails(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=180, check=False
    )
    lines = [line for line in made.stdout.splitlines() if line.startswith("SAID ")]
    assert len(lines) == 1, made.stderr
    said = json.loads(lines[0].removeprefix("SAID "))
    assert said["another"] == "0 rows"
    assert "only the first may write results" in said["of a query"]

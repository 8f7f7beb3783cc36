"""A session on a cluster that loses an executor: what becomes of the one that comes in its place.

``python -m tests.cluster.held_executor FOLDER`` prints a line whenever that changes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil

from ksqlpy.spark.executor_quarantine import admit
from ksqlpy.spark.executors import members
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.session import end_session, slots_of, start_session
from tests.support.waiting import until

PATIENCE = 120.0


def executors() -> dict[str, psutil.Process]:
    """Their processes by their ids."""
    started = [(process, process.cmdline()) for process in psutil.Process().children(recursive=True)]
    return {words[words.index("--executor-id") + 1]: p for p, words in started if "--executor-id" in words}


def main(folder: str) -> None:
    conf = {"spark.executor.memory": "700m"}
    session = start_session("local-cluster[2,1,1024]", "700m", Path(folder), conf=conf)
    quarantine = jvm_of(session).ksqlpy.cluster.ExecutorQuarantine

    def held() -> dict[str, Any]:
        return dict(json.loads(quarantine.held()))

    def tell(what: str, name: str) -> None:
        loaded = any("rocksdb" in part.path for part in executors()[name].memory_maps())
        print(what, f"slots: {slots_of(session)}", f"loaded: {loaded}", sep=", ")

    until(lambda: len(members(session)) == 2, PATIENCE)
    admit(session, needed=False, live=False)
    executors()["0"].kill()
    (name,) = until(held, PATIENCE)
    admit(session, needed=False, live=False)
    tell("held back", name)
    quarantine.prepare(True)
    until(lambda: held()[name]["prepared"], PATIENCE)
    tell("prepared" if held()[name]["prepared"] else "not prepared", name)
    admit(session, needed=False, live=True)
    until(lambda: slots_of(session) == 2, PATIENCE)
    tell("held back" if held() else "admitted", name)
    end_session(session)


if __name__ == "__main__":
    main(sys.argv[1])

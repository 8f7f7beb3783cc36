"""A program: a Spark session in a JVM with the archive of classes, which is made ahead if there is none.

Prints ``archived`` if the JVM has it, and ``guarded`` if what has to be there ahead of the first query is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ksqlpy.runtime.archive import make_archive
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.session import end_session, start_session


def main(folder: Path) -> None:
    """Starts and ends both JVMs; ``folder``: for the files of the second one."""
    assert make_archive(lambda said: None)
    session = start_session("local[4]", "512m", folder)
    try:
        jvm = jvm_of(session)
        options = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
        if any("AOTCache=" in o or "SharedArchiveFile=" in o for o in options):
            print("archived")
        if jvm.ksqlpy.internals.Guards.begin():
            print("guarded")
    finally:
        end_session(session)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

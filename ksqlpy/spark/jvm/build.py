"""Makes the jar of ksqlpy's own Java classes, without a JDK: the compiler is the janino that Spark brings.

janino knows Java 7 and a little more: no lambdas, no inference of type arguments, so casts are written where generics
give an Object.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ksqlpy.embedded.cache import Progress, StatusLine, cache_folder, digest, locked
from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem

__all__ = ["helper_jar"]

_COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"  # janino's command line, in its own jar
_LAYOUT = "1"  # to be raised when this file makes another jar of the same sources


def helper_jar(progress: Progress | None = None, *, folder: Path | None = None) -> Path:
    """The jar with the compiled classes of all ``*.java`` files beside this file (or in ``folder``).

    It is compiled once for each state of sources and jars, into the cache folder. Raises EnvironmentProblem
    ``helper-jar-not-compiled`` with file, line and column, and those of
    :func:`~ksqlpy.embedded.jars.spark_jars` and :func:`~ksqlpy.embedded.java.find_java`.
    """
    sources = sorted((folder or Path(__file__).parent).glob("*.java"))
    theirs = sorted(pyspark_jars_folder().glob("*.jar"))
    libraries = [*theirs, *spark_jars(progress)]
    names = [part for s in sources for part in (s.name.encode(), s.read_bytes())]
    target = cache_folder("jvm") / f"ksqlpy-jvm-{digest(_LAYOUT, *(j.name for j in libraries), *names)}.jar"
    if target.exists():
        return target
    tell = progress or StatusLine()
    tell(f"compiling helper classes: {len(sources)} files")
    try:
        with locked(target.with_name("lock")):
            if not target.exists():
                with tempfile.TemporaryDirectory(prefix=".compile-", dir=target.parent) as scratch:
                    classes = Path(scratch) / "classes"
                    _compile(sources, [j for j in theirs if _is_compiler(j)], libraries, classes)
                    _pack(classes, Path(scratch) / "out.jar").replace(target)
    finally:
        tell("")
    return target


def _is_compiler(jar: Path) -> bool:
    return jar.name.startswith(("janino-", "commons-compiler-"))


def _compile(sources: Sequence[Path], compiler: Sequence[Path], libraries: Sequence[Path], to: Path) -> None:
    command = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(map(str, compiler))]
    command += [_COMPILER, "-g", "-encoding", "UTF-8", "-d", str(to)]
    command += ["-classpath", os.pathsep.join(map(str, libraries)), *(s.name for s in sources)]
    # In their folder, so that messages name plain files.
    done = subprocess.run(
        command, cwd=sources[0].parent, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode == 0:
        return
    said = (done.stdout + done.stderr).strip()
    place = re.search(r"File '([^']+)', Line (\d+), Column (\d+): (.+)", said)
    what = f"{place[1]}:{place[2]}:{place[3]}: {place[4]}" if place else said or f"status {done.returncode}"
    problem = EnvironmentProblem(
        "helper-jar-not-compiled",
        f"ksqlpy's Java classes do not compile: {what}",
        hint="they are written for the versions of PySpark and of the jars that ksqlpy pins: are these installed?",
    )
    problem.add_note(said)
    raise problem


def _pack(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\r\n\r\n")
        for file in sorted(classes.rglob("*.class")):
            # A fixed date: the same sources give the same bytes.
            z.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix()), file.read_bytes())
    return jar

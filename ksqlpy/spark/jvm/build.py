"""The jar of ksqlpy's own Java classes: the one that a wheel carries, or one compiled from the sources that lie here.

The compiler is javac where there is a JDK. A Java runtime alone has none, so there it is Eclipse's, which is one pinned
jar. Both take today's language level for the oldest Java that Spark runs on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ksqlpy.embedded.cache import Progress, StatusLine, cache_folder, digest, locked
from ksqlpy.embedded.jars import jar_set, pyspark_jars_folder, spark_jars
from ksqlpy.embedded.java import MINIMUM, find_java
from ksqlpy.errors import EnvironmentProblem

__all__ = ["FOLDER", "JAR", "compile_jar", "compile_with_javac", "compiler", "helper_jar", "libraries", "sources"]

FOLDER = Path(__file__).parent
_KSQLPY = FOLDER.parents[1]
JAR = "ksqlpy-jvm.jar"
"""The file beside this one that a wheel has in place of the sources."""

_FILES = ("boot.py", "declare.py", "values.py", "worker.py")
RESOURCES = {f"ksqlpy/python/{name}": Path("udfs", name) for name in _FILES}
"""Files of ksqlpy that our classes need where ksqlpy is not installed, by their names in the jar."""

_LAYOUT = "3"  # to be raised when this file makes another jar of the same sources
_USED = re.compile(
    r"spark-|scala-|jackson-|avro-1|hadoop-client-api|commons-|guava|rocksdbjni-|kryo|slf4j-api|log4j-(api|core)|jsr305"
    r"|xbean-asm9-|lz4-java-|netty-(common|transport-4|buffer)"
)
"""PySpark's jars that our classes name, or that these name: of all 250 the compiler takes a second more."""


def helper_jar(progress: Progress | None = None, *, folder: Path | None = None) -> Path:
    """The jar with the compiled classes of all ``*.java`` files below this file's folder (or ``folder``).

    It is compiled once for each state of sources and jars, into the cache folder. Raises EnvironmentProblem
    ``helper-jar-not-compiled`` with file and line, and those of :func:`~ksqlpy.embedded.jars.jar_set` and
    :func:`~ksqlpy.embedded.java.find_java`.
    """
    root = folder or FOLDER
    files = sources(root)
    if not files:
        return root / JAR
    used = libraries(progress)
    texts = [part for s in files for part in (s.as_posix().encode(), (root / s).read_bytes())]
    texts += [(_KSQLPY / file).read_bytes() for file in RESOURCES.values()]
    target = cache_folder("jvm") / f"ksqlpy-jvm-{digest(_LAYOUT, *(j.name for j in used), *texts)}.jar"
    if target.exists():
        return target
    tell = progress or StatusLine()
    try:
        with locked(target.with_name("lock")):
            if not target.exists():
                command = compiler(tell)
                tell(f"compiling helper classes: {len(files)} files")
                compile_jar(target, command, used, root)
    finally:
        tell("")
    return target


def libraries(progress: Progress | None = None) -> list[Path]:
    """The jars that our classes are compiled against."""
    return [*(j for j in sorted(pyspark_jars_folder().glob("*.jar")) if _USED.match(j.name)), *spark_jars(progress)]


def find_javac() -> Path | None:
    """javac of the Java that runs Spark, else the one in PATH; None where neither is there, or both are too old."""
    in_path = shutil.which("javac")
    for javac in (find_java().home / "bin" / "javac", *([Path(in_path)] if in_path else [])):
        if javac.exists():
            said = subprocess.run([str(javac), "-version"], capture_output=True, text=True)
            version = re.match(r"javac (\d+)", said.stdout)
            if version is not None and int(version[1]) >= MINIMUM:
                return javac
    return None


def compile_with_javac(to: Path) -> None:
    """Compiles our classes into the jar ``to``. Raises as :func:`helper_jar`, and ``java-missing`` without a JDK."""
    command = _javac_command()
    if not command:
        raise EnvironmentProblem("java-missing", f"a JDK {MINIMUM} or newer is needed to compile the Java classes")
    compile_jar(to, command, libraries())


def compiler(progress: Progress | None = None) -> list[str]:
    """The command of javac, or of Eclipse's compiler where there is no JDK."""
    return _javac_command() or _eclipse_command(progress)


def compile_jar(to: Path, command: Sequence[str], used: Sequence[Path], root: Path = FOLDER) -> None:
    """Compiles the sources below ``root`` into the jar ``to`` with this command."""
    with tempfile.TemporaryDirectory(prefix=".compile-", dir=to.parent.absolute()) as scratch:
        classes = Path(scratch) / "classes"
        whole = [*command, "-proc:none", "-nowarn", "-g", "-encoding", "UTF-8", "-d", str(classes)]
        whole += ["-classpath", os.pathsep.join(map(str, used)), *map(str, sources(root))]
        # In their folder, so that messages name them from there.
        done = subprocess.run(
            whole, cwd=root, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise _problem((done.stdout + done.stderr).strip() or f"status {done.returncode}")
        _pack(classes, Path(scratch) / "out.jar").replace(to)


def sources(root: Path = FOLDER) -> list[Path]:
    """The ``*.java`` files below a folder, as paths from there."""
    return sorted(file.relative_to(root) for file in root.rglob("*.java"))


def _javac_command() -> list[str]:
    javac = find_javac()
    return [str(javac), "-J-XX:TieredStopAtLevel=1", "--release", str(MINIMUM)] if javac else []


def _eclipse_command(progress: Progress | None) -> list[str]:
    # -17, not --release 17: the descriptions of older Javas' classes are in JDKs only.
    (jar,) = jar_set("compiler", progress)
    java = str(find_java().executable)
    return [java, "-XX:TieredStopAtLevel=1", "-jar", str(jar), f"-{MINIMUM}", "-Xemacs"]


def _problem(said: str) -> EnvironmentProblem:
    place = re.search(r"^(\S+\.java:\d+): error: (.+)$", said, re.MULTILINE)
    problem = EnvironmentProblem(
        "helper-jar-not-compiled",
        f"ksqlpy's Java classes do not compile: {f'{place[1]}: {place[2]}' if place else said}",
        hint="they are written for the versions of PySpark and of the jars that ksqlpy pins: are these installed?",
    )
    problem.add_note(said)
    return problem


def _pack(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\r\n\r\n")
        for file in sorted((classes / "ksqlpy").rglob("*.class")):  # not the stubs
            # A fixed date: the same sources give the same bytes.
            z.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix()), file.read_bytes())
        for name, file in RESOURCES.items() if (classes / "ksqlpy" / "python").exists() else ():
            z.writestr(zipfile.ZipInfo(name), (_KSQLPY / file).read_bytes())
    return jar

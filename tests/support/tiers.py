"""The tiers of tests, as a pytest plugin: ``make check`` starts no Java, ``make test`` leaves out what is ``extended``.

A test that starts Java carries one of the marks ``spark``, ``kafka`` and ``java``; who uses the fixture ``spark`` or
``broker`` gets the mark by that. With ``--no-java`` a Java that cannot run stands in front of all others, and a test
that starts it, or another one, fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

__all__ = ["EXTENDED", "JAVA", "needs_java"]

JAVA = ("spark", "kafka", "java")
"""The marks of tests that start a Java process."""

LONGEST = (
    "tests/streams/test_streams.py",
    "tests/runtime/test_lifecycle.py",
    "tests/runtime/test_disturbed.py",
    "tests/streams/test_streams_on_kafka.py",
    "tests/deadletters/test_too_large.py",
    "tests/shell/test_terminal.py",
    "tests/runtime/test_transactions.py",
    "tests/generated/test_generated_expressions.py",
    "tests/runtime/test_engine.py",
    "tests/shell/test_screens.py",
    "tests/sql/test_sql_roundtrip.py",
    "tests/support/test_tiers.py",
)
"""Files that come first, as one at the end would keep the other process waiting."""

EXTENDED = "extended"
"""The mark of tests that only ``make test-all`` runs; its argument is the reason."""

_BY_FIXTURE = {"spark": "spark", "broker": "kafka"}
_PROGRAMS = {"java", "javac", "keytool"}
_STUB = """\
#!/bin/sh
if [ "$*" = "-XshowSettings:properties -version" ]; then
  echo '    java.home = {home}'
  echo 'openjdk version "25.0.1"'
else
  echo "java $*" >> '{home}/started'
  echo "Java is not started here: --no-java" >&2
  exit 1
fi
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-java", action="store_true", help="a test that starts Java fails")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--no-java"):
        config.pluginmanager.register(_NoJava(), "no-java")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks by fixtures; long files and those that need Java come first, so that short ones fill the end of a run."""
    for item in items:
        for fixture, mark in _BY_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()) and item.get_closest_marker(mark) is None:
                item.add_marker(mark)
    java = {item.path for item in items if needs_java(item)}

    def place(item: pytest.Item) -> int:
        name = item.nodeid.partition("::")[0]
        return LONGEST.index(name) if name in LONGEST else len(LONGEST) + (item.path not in java)

    items.sort(key=place)


def needs_java(item: pytest.Item) -> bool:
    """Whether it carries one of the marks."""
    return any(item.get_closest_marker(mark) for mark in JAVA)


class _NoJava:
    """Sees every start of Java: of the children by a Java that notes it, of this process by its audit events."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ksqlpy-no-java-")
        home = Path(self._folder.name)
        self._notes = home / "started"
        self._seen: list[str] = []
        stub = home / "bin" / "java"
        stub.parent.mkdir()
        stub.write_text(_STUB.format(home=home), encoding="utf-8")
        stub.chmod(0o755)
        os.environ["JAVA_HOME"] = str(home)
        os.environ["PATH"] = f"{stub.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        sys.addaudithook(self._audit)

    def pytest_unconfigure(self) -> None:
        self._folder.cleanup()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        yield from self._watched()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        yield from self._watched()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        yield from self._watched()

    def _watched(self) -> Generator[None, None, None]:
        try:
            yield
        finally:
            started, self._seen = self._seen, []
            if self._notes.exists():
                started += self._notes.read_text(encoding="utf-8").splitlines()
                self._notes.unlink()
            if started:
                said = "\n".join(line[:200] for line in started)
                pytest.fail(f"starts Java: mark it with one of {', '.join(JAVA)}.\n{said}", pytrace=False)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn") and isinstance(given := arguments[1], Iterable):
            command = [str(given)] if isinstance(given, str | bytes) else [_text(a) for a in given]
            if any(Path(word).name in _PROGRAMS and _is_binary(Path(word)) for word in command):
                self._seen.append(" ".join(command))


def _text(word: object) -> str:
    return os.fsdecode(word) if isinstance(word, str | bytes | os.PathLike) else str(word)


def _is_binary(program: Path) -> bool:
    """Whether it is a program of the machine: scripts of tests have its name, too."""
    try:
        with program.open("rb") as file:
            return file.read(2) != b"#!"
    except OSError:
        return False

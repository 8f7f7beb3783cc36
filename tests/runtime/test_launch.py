"""The environment in which JVMs are started, and what is left of it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from ksqlpy.spark.launch import Launch

LAUNCH = Launch({}, {"JAVA_HOME": "/java", "SPARK_HOME": "/spark"}, Path("work"))


def test_the_environment_of_before_is_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/mine")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with LAUNCH.environ():
        assert (os.environ["JAVA_HOME"], os.environ["SPARK_HOME"]) == ("/java", "/spark")
    assert (os.environ["JAVA_HOME"], os.environ.get("SPARK_HOME")) == ("/mine", None)


def test_a_start_that_ends_first_leaves_the_other_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/mine")
    spare, driver = contextlib.ExitStack(), contextlib.ExitStack()
    spare.enter_context(LAUNCH.environ())
    driver.enter_context(LAUNCH.environ())
    spare.close()
    assert os.environ["JAVA_HOME"] == "/java"
    driver.close()
    assert os.environ["JAVA_HOME"] == "/mine"

"""ksqlpy/spark/jvm/README.md names every class, and the package of a class is its folder."""

from __future__ import annotations

import re

from tests.jvm.java_readme import classes, sources


def test_each_class_has_its_line() -> None:
    assert classes() == sorted(sources(), key=lambda name: (name.count("."), name))


def test_a_package_is_a_folder() -> None:
    for name, text in sources().items():
        package = ".".join(["ksqlpy", *name.split(".")[:-1]])
        assert re.findall(r"^package (.+);$", text, re.MULTILINE) == [package], name

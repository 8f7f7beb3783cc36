"""Verdicts as JUnit XML, which build servers read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ksqlpy.testing.suite import Verdict

__all__ = ["write_junit"]


def write_junit(file: Path, verdicts: Sequence[Verdict]) -> None:
    """Writes a suite of all cases; a known fault counts as skipped. Raises OSError."""
    suite = ElementTree.Element(
        "testsuite",
        name="ksqlpy",
        tests=str(len(verdicts)),
        failures=str(sum(v.kind == "failed" for v in verdicts)),
        skipped=str(sum(v.kind == "known fault" for v in verdicts)),
        time=f"{sum(v.seconds for v in verdicts):.3f}",
    )
    for v in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_plain(str(v.file)), name=_plain(v.case) or "(file)", time=f"{v.seconds:.3f}"
        )
        if v.kind == "failed":
            lines = _plain(v.message).split("\n")
            ElementTree.SubElement(case, "failure", message=lines[0]).text = "\n".join(lines)
        elif v.kind == "known fault":
            ElementTree.SubElement(case, "skipped", message=f"known fault: {_plain(v.message)}")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _plain(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)

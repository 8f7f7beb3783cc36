"""The command `python -m bench.report [FILE] [--to DIR]`: makes docs/performance.md and its pictures of figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.report.page import PICTURES, page
from bench.report.plots import pictures
from bench.report.record import Record

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Writes the page and the pictures."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path("build/bench/report.json"), help="%(default)s")
    parser.add_argument("--to", type=Path, default=DOCS, help="the folder of the page (docs)")
    arguments = parser.parse_args()
    record = Record.read(arguments.file)
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name in PICTURES.values():  # one of another run would not belong to the page
        (arguments.to / name).unlink(missing_ok=True)
    for name, text in {"performance.md": page(record), **pictures(record)}.items():
        (arguments.to / name).write_text(text, encoding="utf-8")
        print(arguments.to / name)


if __name__ == "__main__":
    main()

"""The rows of an input, as an answer reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ksqlpy.catalog import Source
from ksqlpy.local.files import FileRowProblem, read_rows
from ksqlpy.local.inference import declaration
from ksqlpy.local.question import Question, Wanted
from ksqlpy.local.rows import Row

__all__ = ["input_rows"]


def input_rows(question: Question, source: Source, file: Path, wanted: Wanted) -> Iterator[Row]:
    """The rows of the file of a source; where times of records decide, each of a stream must have one (``no-rowtime``).

    Raises what :func:`~ksqlpy.local.files.read_rows` raises.
    """
    timed = wanted.cut and source.kind == "STREAM"
    found = question.inferred.get(source.name)
    try:
        for number, row in enumerate(read_rows(file, source), 1):
            if timed and row.time is None:
                raise FileRowProblem(
                    "no-rowtime",
                    f"{file}: row {number} has no ROWTIME, the time of its record, by which --from and --to choose",
                    hint="add a field ROWTIME, or choose by WHERE ROWTIME, which knows the TIMESTAMP of the source",
                )
            yield row
    except FileRowProblem as e:
        if e.code == "wrong-value" and found is not None and not found.whole:
            e.hint = f"columns were inferred from the rows at the beginning only; {declaration(source.name)}"
        raise

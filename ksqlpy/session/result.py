"""The result of a query: its rows as they come, and its end."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ksqlpy.session.inbox import Given, Opened
from ksqlpy.session.misuse import forked, result_closed
from ksqlpy.session.rows import Column, Row
from ksqlpy.session.values import row_maker

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Result"]

_WHOLE = 65_536
"""Rows that are made columns of Arrow at once, where all rows are wanted."""


class Result(Iterator[Row]):
    """The rows of a query, once, in their order; a context manager, which closes it.

    A pull query ends by itself. A push query goes on until its LIMIT or :meth:`close`, which any thread may call: a
    loop over the rows ends then. Rows are read ahead a little; a query whose rows nobody takes waits.
    """

    def __init__(self, opened: Opened) -> None:
        self.columns: tuple[Column, ...] = opened.columns
        self.query_id: str = opened.query_id
        self._opened = opened
        self._made = row_maker(opened.columns)
        self._rows: Iterator[Sequence[Any]] = iter(())
        self._reading = threading.Lock()
        self._pid = os.getpid()
        self._over = self._closed = False
        # What is all there has no end that could be forgotten.
        self._forgotten = (
            None if isinstance(opened, Given) else weakref.finalize(self, _end_forgotten, opened, self._pid)
        )

    # ------------------------------------------------------------ rows

    def __iter__(self) -> Result:
        """Itself. Raises KsqlError ``result-closed``."""
        self.check()
        return self

    def __next__(self) -> Row:
        """The next row, for which it waits. Raises KsqlError: what the query failed with."""
        with self._reading:
            values = next(self._rows, None)
            while values is None:
                taken = self._taken(lambda: self._opened.take(None))
                if taken is None:
                    raise StopIteration
                self._rows = iter(taken)
                values = next(self._rows, None)
        return self._made(values)

    def _taken(self, take: Callable[[], Sequence[Any] | None]) -> Sequence[Any] | None:
        """What a method of :class:`Opened` takes; None behind the last one."""
        if self._over or self._closed:
            return None
        try:
            taken = take()
        except Exception:
            self._end()
            raise
        if taken is None:
            self._end()
        return None if self._closed else taken

    def fetchone(self) -> Row | None:
        """The next row, for which it waits; None behind the last one. Raises KsqlError."""
        self.check()
        return next(self, None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """So many rows, for which it waits; fewer where no more come. Raises KsqlError."""
        self.check()
        found: list[Row] = []
        while len(found) < size and (row := next(self, None)) is not None:
            found.append(row)
        return found

    def fetchall(self) -> list[Row]:
        """All rows that are left, at the end of the query: a push query needs a LIMIT. Raises KsqlError."""
        self.check()
        return list(self)

    # ------------------------------------------------------------ columns

    def arrow(self) -> pyarrow.Table:
        """All rows that are left as a table of Arrow, with exactly the values and types of the columns.

        Raises EnvironmentProblem ``missing-package`` without pyarrow (the extra ``arrow``), and as :meth:`fetchall`.
        """
        from ksqlpy.session.arrow import table

        self.check()
        made: pyarrow.Table = table(self.columns, self._batches(_WHOLE))
        return made

    def df(self) -> pandas.DataFrame:
        """All rows that are left as a DataFrame of pandas. Raises as :meth:`arrow`, also without pandas."""
        from ksqlpy.session.arrow import to_pandas

        frame: pandas.DataFrame = to_pandas(self.arrow())
        return frame

    def pl(self) -> polars.DataFrame:
        """All rows that are left as a DataFrame of Polars. Raises as :meth:`arrow`, also without Polars."""
        from ksqlpy.session.arrow import to_polars

        frame: polars.DataFrame = to_polars(self.arrow())
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows that are left as a stream of Arrow, as they come: pandas, Polars and DuckDB read it.

        Raises as :meth:`arrow`.
        """
        from ksqlpy.session.arrow import reader

        self.check()
        stream: object = reader(self.columns, self._batches(1)).__arrow_c_stream__(requested_schema)
        return stream

    def _batches(self, least: int) -> Iterator[Any]:
        """The rows that are left, as :meth:`Opened.take_batches` gives them."""
        with self._reading:
            rows = list(self._rows)
            self._rows = iter(())
        if rows:
            yield rows
        while True:
            with self._reading:
                found = self._taken(lambda: self._opened.take_batches(least))
            if found is None:
                return
            yield from found

    def check(self) -> None:
        """Raises KsqlError ``result-closed`` and ``session-forked`` where it cannot be read any more."""
        if self._pid != os.getpid():
            raise forked(self._pid)
        if self._closed:
            raise result_closed()

    def listen(self, told: Callable[[], None]) -> None:
        """Has ``told`` called, by any thread, when :meth:`ready` may give more."""
        self._opened.tell = told

    def ready(self) -> list[Row] | None:
        """The rows that have come, without waiting for any; None behind the last one. Raises KsqlError."""
        with self._reading:
            taken: Sequence[Sequence[Any]] | None = [*self._rows] or self._taken(lambda: self._opened.take(0.0))
        return None if taken is None else [self._made(values) for values in taken]

    # ------------------------------------------------------------ end

    def close(self) -> None:
        """Ends the query; closing twice does nothing."""
        if self._pid != os.getpid():
            return  # it is its parent's
        self._closed = True
        self._rows = iter(())
        self._end()

    def _end(self) -> None:
        self._over = True
        if self._forgotten is not None and self._forgotten.detach() is not None:
            self._opened.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ksqlpy.Result of {self.query_id}: {', '.join(map(str, self.columns))}>"


def _end_forgotten(opened: Opened, pid: int) -> None:
    if pid != os.getpid():
        return  # in a process that was forked; it is its parent's
    try:
        warnings.warn(f"the result of query {opened.query_id} was not closed", ResourceWarning, stacklevel=2)
    finally:
        opened.close()

"""A session with a server: what goes with every statement, and how statements are run and their results shown."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ksqlpy.errors import ConfigProblem, KsqlError, Span, SyntaxProblem, file_reason
from ksqlpy.shell.output import Printer
from ksqlpy.shell.pieces import Piece, is_push, split
from ksqlpy.shell.progress import Progress
from ksqlpy.shell.text import escaped

if TYPE_CHECKING:
    from ksqlpy.client import Client, Connection

__all__ = ["INTERRUPTED", "Limits", "Session"]

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""

_IN_SCRIPTS = ("CREATE", "ALTER", "DROP", "INSERT", "DELETE", "DEFINE", "UNDEFINE", "ASSERT")
_SCRIPT_HINT = "scripts make, change and fill sources: CREATE, ALTER, DROP, INSERT, SET, DEFINE"

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """When streamed queries end by themselves: after ``rows``, and after ``milliseconds``; None: never."""

    rows: int | None = None
    milliseconds: int | None = None


class Session:
    """Properties as SET changes them, variables as DEFINE does, and where statements go.

    ``interactive``: a person waits: slow work reports itself, and a starting server or query is waited for.
    ``changed`` is called after a statement that may change what exists: with the id of a query that it started, and the
    name of what it changed.
    """

    def __init__(
        self,
        server: str | Connection,
        printer: Printer,
        properties: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        *,
        limits: Limits | None = None,
        interactive: bool = False,
    ) -> None:
        self.server = server
        self.printer = printer
        self.properties = dict(properties or {})
        self.variables = {name.upper(): value for name, value in (variables or {}).items()}
        self.limits = limits or Limits()
        self.interactive = interactive
        self.pipelining = False
        self.progress = Progress()
        self.changed: Callable[[str | None, str], None] = lambda query_id, source: None
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The client, made when it is needed first; raises ConfigProblem for a URL that is none."""
        if self._client is None:
            from ksqlpy.client import Client

            self._client = Client(self.server)
        return self._client

    def move(self, server: str | Connection) -> None:
        """Goes on with another server; raises ConfigProblem for a URL that is none, and then stays."""
        from ksqlpy.client import Client

        client = Client(server)
        self.close()
        self.server, self._client = server, client

    def close(self) -> None:
        """Gives the connections back; a later statement opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # ------------------------------------------------------------ statements

    def run(self, sql: str, *, complete: bool = False) -> int:
        """Runs the statements of a text in order: 0, or 130 if a query was interrupted.

        ``complete``: the last semicolon may be missing. The first statement that fails is the last. Raises KsqlError
        with the place in the whole text.
        """
        self.client  # noqa: B018  # a URL that is none is said first
        return self.run_pieces(split(sql, complete), sql)

    def run_pieces(self, pieces: Sequence[Piece], sql: str, *, script: bool = False) -> int:
        """Runs the statements of a text, see :meth:`run`; of a ``script`` only those that may stand there."""
        for piece in pieces:
            try:
                if self._run_piece(piece, sql, script=script) == INTERRUPTED:
                    return INTERRUPTED
            except KsqlError as e:
                self.printer.entities(list(e.entities))
                raise _moved(e, piece, sql) from None
        return 0

    def _run_piece(self, piece: Piece, sql: str, *, script: bool) -> int:
        word = piece.words[0]
        if word in ("SET", "UNSET"):
            self._change(piece, sql)
        elif script and word not in _IN_SCRIPTS:
            raise _refused(piece, sql, "not-in-script", f"a script cannot hold {word}", _SCRIPT_HINT)
        elif piece.words[:2] == ("RUN", "SCRIPT"):
            self._run_script(piece, sql)
        elif word in ("SELECT", "WITH"):
            return self._stream(piece)
        elif word == "PRINT":
            return self._print(piece)
        else:
            with (
                self.progress.doing(f"waiting for {self.client.url}") if self.interactive else contextlib.nullcontext()
            ):
                entities = self._answer(lambda: self.client.statements(piece.text, self.properties, self.variables))
            with self.printer.screen.paged() if self.interactive else contextlib.nullcontext():
                self.printer.entities(entities)
            if not entities and self.interactive:
                self.note("done")
            self._note_variable(piece)
            self._follow(e for e in entities if "commandStatus" in e or "wasTerminated" in e)
        return 0

    def _answer(self, ask: Callable[[], T]) -> T:
        """What the server answers; if a person waits, once it has started."""
        from ksqlpy.client import STARTING

        while True:
            try:
                return ask()
            except KsqlError as e:
                if e.error_code != STARTING or not self.interactive:
                    raise
            with self.progress.doing("the server is starting", patience=0.3):
                time.sleep(0.3)

    def _run_script(self, piece: Piece, sql: str) -> None:
        """RUN SCRIPT 'file': the statements of a file, in this session; an error has its place in the file."""
        if piece.words not in (("RUN", "SCRIPT", "", ";"), ("RUN", "SCRIPT", "")):
            raise _refused(piece, sql, "bad-run-script", "this is no RUN SCRIPT statement", "RUN SCRIPT 'file';")
        name, place = piece.literals[0]
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigProblem(
                "file-unreadable", f"the file {name} cannot be read: {file_reason(e)}", span=place, sql=sql
            ) from e
        self.run_pieces(split(text), text, script=True)

    def _note_variable(self, piece: Piece) -> None:
        """Keeps what DEFINE name = 'value' and UNDEFINE name have done, once the server has accepted them."""
        if piece.words[0] not in ("DEFINE", "UNDEFINE"):
            return
        from ksqlpy.sql import nodes, parse

        node = parse(piece.text, self.variables)[0].node
        if isinstance(node, nodes.Define):
            self.variables[node.this.this] = node.expression.this
        else:
            self.variables.pop(node.this.this, None)

    def _change(self, piece: Piece, sql: str) -> None:
        """Does SET 'name'='value'; or UNSET 'name'; here: the session is the client's."""
        setting = piece.words[0] == "SET"
        shape = ("SET", "", "=", "", ";") if setting else ("UNSET", "", ";")
        if piece.words not in (shape, shape[:-1]) or piece.text[-1:] != ";":
            code, hint = ("bad-set", "SET 'property'='value';") if setting else ("bad-unset", "UNSET 'property';")
            raise _refused(piece, sql, code, f"This is no {piece.words[0]} statement", hint)
        name, place = piece.literals[0]
        try:
            self._answer(lambda: self.client.check_property(name))
        except KsqlError as e:
            if e.error_code // 100 == 400:
                e.span, e.sql = place, sql
            raise
        if setting:
            self.properties[name] = piece.literals[1][0]
        else:
            self.properties.pop(name, None)
        if self.interactive:
            self.note(f"{name} is {self.properties[name] if setting else 'as the server has it'}")

    # ------------------------------------------------------------ queries

    def _stream(self, piece: Piece) -> int:
        """Prints the rows of a query until it ends or is interrupted (130).

        To a person the rows of a pull query, which have an end, go through the pager; those of a push query come as
        they happen.
        """
        query_id, rows, push = None, 0, is_push(piece)
        what = f"waiting for {self.client.url}"
        progress = self.progress if self.interactive else None
        screen = self.printer.screen
        left = False
        try:
            with (
                screen.paged() if self.interactive and not push else contextlib.nullcontext(),
                progress.doing(lambda: "" if screen.in_pager else what) if progress else contextlib.nullcontext(),
            ):
                header, items = self._answer(lambda: self._begin(piece))
                query_id = str(header.get("queryId"))
                with progress.hidden() if progress else contextlib.nullcontext():
                    self.printer.header(header)
                what = f"{'no rows' if push else 'no answer'} yet, Ctrl-C ends the query"
                with contextlib.closing(items), self._timer(query_id), self._silence(piece, lambda: rows):
                    for row in items:
                        with progress.hidden() if progress else contextlib.nullcontext():
                            self.printer.row(row)
                        rows += 1
                        what = f"{_count(rows)}, Ctrl-C ends the query"
                        left = screen.left
                        if left or rows == self.limits.rows:
                            break
        except KeyboardInterrupt:
            if query_id is None:
                self.note("nothing is waited for any more")
                return INTERRUPTED
            with contextlib.suppress(KsqlError):
                self.client.close_query(query_id)
            self.note(f"query {query_id} is closed" + (f" after {_count(rows)}" if self.interactive else ""))
            return INTERRUPTED
        if self.interactive:
            self.note(f"query {query_id} {'is closed after' if left else 'has ended:'} {_count(rows)}")
        for text in _behind(header):
            self.note(text)
        return 0

    def _print(self, piece: Piece) -> int:
        """Prints the lines of PRINT until it ends or is interrupted (130)."""
        records = 0
        progress = self.progress if self.interactive else None
        what = "no records yet, Ctrl-C ends it"
        try:
            with progress.doing(lambda: what) if progress else contextlib.nullcontext():
                query_id, items = self._answer(lambda: self._begin_print(piece))
                with contextlib.closing(items), self._timer(query_id):
                    for line in items:
                        with progress.hidden() if progress else contextlib.nullcontext():
                            self.printer.text(line)
                        records += line.startswith("rowtime: ")
                        what = f"{records:,} records, Ctrl-C ends it"
                        if records == self.limits.rows:
                            break
        except KeyboardInterrupt:
            self.note("the topic is printed no more")
            return INTERRUPTED
        return 0

    @contextlib.contextmanager
    def _silence(self, piece: Piece, rows: Callable[[], int]) -> Iterator[None]:
        """Tells a person who sees no rows of a push query for a while where it began, and how to see what is there."""
        if not (
            is_push(piece) and self.interactive and self.printer.format == "table" and self.printer.screen.is_terminal
        ):
            yield
            return
        from ksqlpy.shell.silence import SILENCE, where_it_began

        ended = threading.Event()

        def tell() -> None:
            if ended.wait(SILENCE) or rows():
                return
            said = where_it_began(self.server, piece.text, self.properties)
            with self.progress.hidden():
                if said is not None and not ended.is_set() and not rows():
                    self.note(said)

        thread = threading.Thread(target=tell, name="silence", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()

    def _begin_print(self, piece: Piece) -> tuple[str, Generator[str, None, None]]:
        items = self.client.lines(piece.text, self.properties, self.variables)
        return next(items), items

    def _begin(self, piece: Piece) -> tuple[dict[str, Any], Generator[Any, None, None]]:
        items = self.client.push(piece.text, self.properties, self.variables)
        return next(items), items

    @contextlib.contextmanager
    def _timer(self, query_id: str) -> Iterator[None]:
        """Closes the query when its time is up."""
        if self.limits.milliseconds is None:
            yield
            return

        def end() -> None:
            with contextlib.suppress(KsqlError):
                self.client.close_query(query_id)

        timer = threading.Timer(self.limits.milliseconds / 1000, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _follow(self, entities: Iterable[Mapping[str, Any]]) -> None:
        """Tells of what a statement changed; of a query that it started, waits until it runs."""
        started = None
        for entity in entities:
            status = entity.get("commandStatus") or {}
            started = status.get("queryId") if isinstance(status, dict) else None
            # Such as stream/`RIDES`/create.
            self.changed(started, str(entity.get("commandId") or "").partition("/")[2].rpartition("/")[0].strip("`"))
        if started and self.interactive and not self.pipelining:
            self._await(str(started))

    def _await(self, query_id: str) -> None:
        try:
            with self.progress.doing(f"query {query_id} is starting; Ctrl-C waits no longer"):
                while not self._runs(query_id):
                    time.sleep(0.2)
        except KeyboardInterrupt:
            self.note(f"query {query_id} starts in the background")

    def _runs(self, query_id: str) -> bool:
        """Whether the query has come so far that waiting has an end; servers that tell no figures count as so far."""
        try:
            [entity] = self.client.statements(f"EXPLAIN `{query_id}`;")
            description = entity["queryDescription"]
        except (KsqlError, ValueError, KeyError):
            return True
        figures = description.get("figures")
        if description.get("state") in ("ERROR", "RETRYING"):
            errors = description.get("queryErrors") or [{}]
            self.printer.text(f"query {query_id} has failed: {errors[-1].get('errorMessage', 'see its EXPLAIN')}")
            return True
        return description.get("state") != "STARTING" or not figures

    def note(self, text: str) -> None:
        """Says something beside the results: on the screen of a person, else on standard error."""
        if self.interactive:
            screen = self.printer.screen
            screen.line(screen.styled(escaped(text), "dim"))
        else:
            print(f"\n{escaped(text)}", file=sys.stderr)


def _behind(header: Mapping[str, Any]) -> Iterator[str]:
    """What is said of queries behind a pull query that have still records to read."""
    for query_id, records in (header.get("behind") or {}).items():
        left = (
            "none of its records yet" if records is None else f"all but {records:,} record{'s' if records != 1 else ''}"
        )
        yield f"query {query_id} has read {left}; SET 'ksqlpy.pull.wait.ms'='10000'; lets SELECT wait for the rest"


def _count(rows: int) -> str:
    return f"{rows:,} row{'s' if rows != 1 else ''}"


def _refused(piece: Piece, sql: str, code: str, message: str, hint: str) -> KsqlError:
    span = Span(piece.start, piece.start + len(piece.text.rstrip()))
    return SyntaxProblem(code, message, span=span, sql=sql, hint=hint)


def _moved(error: KsqlError, piece: Piece, sql: str) -> KsqlError:
    """The error of a statement with its place in the whole text."""
    if error.span is not None and error.sql == piece.text:
        error.span = Span(error.span.start + piece.start, error.span.end + piece.start)
        error.sql = sql
    return error

"""Statements for a server, from a text or a file. The exit codes: 0 done, 130 interrupted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksqlpy.errors import ConfigProblem, KsqlError, Span

__all__ = ["Piece", "run_file", "run_text", "split"]


def run_file(file: Path, url: str, output: str, properties: dict[str, str]) -> int:
    """Runs the statements of a file on a server, one after the other; the first that fails is the last.

    Raises KsqlError; ConfigProblem ``file-unreadable`` for a file that cannot be read.
    """
    try:
        sql = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {file} cannot be read: {e}") from e
    return run_text(sql, url, output, properties)


@dataclass(frozen=True)
class Piece:
    """A statement of a text.

    ``text``: as written, with its semicolon; ``start``: where it begins; ``words``: its words in upper case and its
    symbols, with '' for a string and a backtick for a quoted name; ``literals``: its strings and where they stand.
    """

    text: str
    start: int
    words: tuple[str, ...]
    literals: tuple[tuple[str, Span], ...]


def split(sql: str, complete: bool = False) -> list[Piece]:
    """The statements of a text, by its semicolons only: the server says what they mean.

    ``complete``: adds the last semicolon if it is missing. Raises SyntaxProblem for what has no tokens.
    """
    from ksqlpy.sql.tokens import IDENTIFIER, STRING, SYMBOLS, tokenize

    special = {STRING: "", IDENTIFIER: "`"}
    pieces = []
    tokens = tokenize(sql)
    first = 0
    for index, token in enumerate(tokens):
        ends = token.token_type is SYMBOLS[";"]
        if not ends and index + 1 < len(tokens):
            continue
        part = tokens[first : index + 1]
        text = sql[part[0].start : token.end + 1]
        words = tuple(special.get(t.token_type, t.text.upper()) for t in part)
        literals = tuple((t.text, Span(t.start, t.end + 1)) for t in part if t.token_type is STRING)
        if words != (";",):
            pieces.append(Piece(text if ends or not complete else f"{text};", part[0].start, words, literals))
        first = index + 1
    return pieces


@dataclass
class Session:
    """What goes with every statement: properties as SET changes them, variables as DEFINE does; and where it goes."""

    client: Any
    printer: Any
    properties: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)


def run_text(sql: str, url: str, output: str, properties: dict[str, str], complete: bool = False) -> int:
    """Runs the statements of a text in order and prints what they give.

    SET, UNSET, DEFINE and UNDEFINE change what goes with every later statement. Raises KsqlError with the place in the
    whole text; KeyboardInterrupt is dealt with: exit code 130.
    """
    from ksqlpy.client import Client
    from ksqlpy.shell.output import Printer

    pieces = split(sql, complete)
    with Client(url) as client:
        return _run_pieces(pieces, sql, Session(client, Printer(output), properties))


def _run_pieces(pieces: Sequence[Piece], sql: str, session: Session, *, script: bool = False) -> int:
    client, printer = session.client, session.printer
    for piece in pieces:
        try:
            if piece.words[0] in ("SET", "UNSET"):
                _change(client, piece, sql, session.properties)
            elif script and piece.words[0] not in _IN_SCRIPTS:
                raise _refused(piece, sql, "not-in-script", f"a script cannot hold {piece.words[0]}", _SCRIPT_HINT)
            elif piece.words[:2] == ("RUN", "SCRIPT"):
                _run_script(piece, sql, session)
            elif piece.words[0] in ("SELECT", "WITH"):
                if _stream(session, piece) == 130:
                    return 130
            else:
                printer.entities(client.statements(piece.text, session.properties, session.variables))
                _note_variable(piece, session.variables)
        except KsqlError as e:
            printer.entities(list(e.entities))
            raise _moved(e, piece, sql) from None
    return 0


_IN_SCRIPTS = ("CREATE", "ALTER", "DROP", "INSERT", "DELETE", "DEFINE", "UNDEFINE", "ASSERT")
_SCRIPT_HINT = "scripts make, change and fill sources: CREATE, ALTER, DROP, INSERT, SET, DEFINE"


def _run_script(piece: Piece, sql: str, session: Session) -> None:
    """RUN SCRIPT 'file': the statements of a file, in this session; an error has its place in the file."""
    if piece.words not in (("RUN", "SCRIPT", "", ";"), ("RUN", "SCRIPT", "")):
        raise _refused(piece, sql, "bad-run-script", "This is no RUN SCRIPT statement", "RUN SCRIPT 'file';")
    name, place = piece.literals[0]
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {name} cannot be read: {e}", span=place, sql=sql) from e
    _run_pieces(split(text), text, session, script=True)


def _note_variable(piece: Piece, variables: dict[str, str]) -> None:
    """Keeps what DEFINE name = 'value' and UNDEFINE name have done, once the server has accepted them."""
    from ksqlpy.sql import nodes, parse

    if piece.words[0] in ("DEFINE", "UNDEFINE"):
        node = parse(piece.text, variables)[0].node
        if isinstance(node, nodes.Define):
            variables[node.this.this] = node.expression.this
        else:
            variables.pop(node.this.this, None)


def _refused(piece: Piece, sql: str, code: str, message: str, hint: str) -> KsqlError:
    from ksqlpy.errors import SyntaxProblem

    span = Span(piece.start, piece.start + len(piece.text.rstrip()))
    return SyntaxProblem(code, message, span=span, sql=sql, hint=hint)


def _stream(session: Session, piece: Piece) -> int:
    """Prints the rows of a query until it ends or is interrupted (130)."""
    client, printer, query_id = session.client, session.printer, None
    try:
        with contextlib.closing(client.push(piece.text, session.properties, session.variables)) as items:
            for item in items:
                if query_id is None:
                    query_id = str(item.get("queryId"))
                    printer.header(item)
                else:
                    printer.row(item)
    except KeyboardInterrupt:
        if query_id is not None:
            with contextlib.suppress(KsqlError):
                client.close_query(query_id)
            print(f"\nquery {query_id} is closed", file=sys.stderr)
        return 130
    return 0


def _change(client: Any, piece: Piece, sql: str, properties: dict[str, str]) -> None:
    """Does SET 'name'='value'; or UNSET 'name'; here: the session is the client's."""
    setting = piece.words[0] == "SET"
    shape = ("SET", "", "=", "", ";") if setting else ("UNSET", "", ";")
    if piece.words not in (shape, shape[:-1]) or piece.text[-1:] != ";":
        code, hint = ("bad-set", "SET 'property'='value';") if setting else ("bad-unset", "UNSET 'property';")
        raise _refused(piece, sql, code, f"This is no {piece.words[0]} statement", hint)
    name, place = piece.literals[0]
    try:
        client.check_property(name)
    except KsqlError as e:
        if e.error_code // 100 == 400:
            e.span, e.sql = place, sql
        raise
    if setting:
        properties[name] = piece.literals[1][0]
    else:
        properties.pop(name, None)


def _moved(error: KsqlError, piece: Piece, sql: str) -> KsqlError:
    """The error of a statement with its place in the whole text."""
    if error.span is not None and error.sql == piece.text:
        error.span = Span(error.span.start + piece.start, error.span.end + piece.start)
        error.sql = sql
    return error

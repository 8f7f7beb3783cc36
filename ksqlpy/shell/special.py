"""The shell's own commands: one line each, without a semicolon; ksqlDB's command line client has the first ones.

:data:`SPECIALS` is the table of them: help, completion and the tests read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from ksqlpy.shell.files import Favourites
    from ksqlpy.shell.session import Session

__all__ = ["SPECIALS", "Shell", "Special", "arguments", "commands", "match", "submits"]


class Shell(Protocol):
    """What a command may use of the shell."""

    session: Session
    favourites: Favourites
    last: str
    draft: str
    timing: bool

    def run(self, text: str) -> None: ...
    def history(self) -> Sequence[str]: ...
    def refresh(self) -> None: ...
    def move(self, url: str) -> None: ...
    def edit(self, text: str) -> str: ...


@dataclass(frozen=True)
class Special:
    """A command.

    ``names``: how it may be called, the first one is shown; ``usage``: with what it takes; ``help``: what it does;
    ``run``: does it, with the text behind the name; ``takes``: for completion, words or ``{sources}`` and the like.
    """

    names: tuple[str, ...]
    usage: str
    help: str
    run: Callable[[Shell, str], None]
    takes: tuple[str, ...] = ()


def match(text: str) -> tuple[Special, str] | None:
    """The command that a line calls, and what stands behind its name; None for a statement.

    Raises ConfigProblem ``unknown-command`` for a line that begins with a backslash and calls none.
    """
    line = text.strip()
    if "\n" in line:
        return None
    if not line.startswith("\\"):
        line = line.rstrip(";").rstrip()
    for name, special in _by_name():
        if line[: len(name)].lower() == name.lower() and line[len(name) : len(name) + 1].strip() == "":
            return special, line[len(name) :].strip()
    if line.startswith("\\"):
        raise ConfigProblem("unknown-command", f"there is no command {line.split()[0]}", hint="\\? lists them")
    return None


def submits(text: str) -> bool:
    """Whether Enter runs the text, rather than beginning another line: a command, or statements with their end."""
    if not text.strip():
        return True
    try:
        if match(text) is not None:
            return True
    except ConfigProblem:
        return True
    from ksqlpy.shell.pieces import is_whole

    return is_whole(text)


def commands() -> Mapping[str, str]:
    """The names of all commands, with what they do."""
    return {name: s.help for s in SPECIALS for name in s.names}


def arguments() -> Mapping[str, Sequence[str]]:
    """What commands take, by name, the longer names first."""
    return {**{name: s.takes for name, s in _by_name() if s.takes}, "set cli": ("WRAP", "COLUMN-WIDTH")}


# ------------------------------------------------------------ one function a command


def _help(shell: Shell, about: str) -> None:
    from ksqlpy.shell.help import overview, page

    screen = shell.session.printer.screen
    room = min(screen.room or 100, 120)
    if about:
        lines = page(about, {n.lower(): (s.usage, s.help) for s in SPECIALS for n in s.names}, room)
    else:
        lines = overview([(s.usage, s.help) for s in SPECIALS], room)
    with screen.paged():
        for line in lines:
            screen.line(line)


def _exit(shell: Shell, rest: str) -> None:
    raise EOFError


def _clear(shell: Shell, rest: str) -> None:
    screen = shell.session.printer.screen
    if screen.is_terminal:
        screen.stream.write("\x1b[2J\x1b[3J\x1b[H")
        screen.stream.flush()


def _history(shell: Shell, rest: str) -> None:
    entries = list(enumerate(shell.history(), 1))
    with shell.session.printer.screen.paged():
        for number, text in entries[-_number(rest, "history [N]") :] if rest else entries:
            shell.session.printer.text(f"{number:4}  " + text.replace("\n", "\n      "))


def _version(shell: Shell, rest: str) -> None:
    from ksqlpy.version import __version__

    session = shell.session
    session.printer.text(f"ksqlpy {__version__}")
    info = session.client.info()
    own = f" (ksqlpy {info['ksqlpyVersion']})" if info.get("ksqlpyVersion") else ""
    session.printer.text(f"server {session.client.url}: ksqlDB {info.get('version')}{own}")


def _server(shell: Shell, url: str) -> None:
    session = shell.session
    if url:
        shell.move(url)
    session.printer.text(session.client.url)
    info = session.client.info()
    session.printer.facts(
        {
            "Service": info.get("ksqlServiceId"),
            "Kafka cluster": info.get("kafkaClusterId"),
            "Status": info.get("serverStatus"),
        }
    )


def _output(shell: Shell, form: str) -> None:
    printer = shell.session.printer
    formats = {"TABULAR": "table", "TABLE": "table", "JSON": "json", "CSV": "csv"}
    if form:
        printer.format = formats[_one_of(form, formats, "output")]
    printer.text(f"output is {'TABULAR' if printer.format == 'table' else printer.format.upper()}")


def _wrap(shell: Shell, state: str) -> None:
    shell.session.printer.wrap = _switch(state, shell.session.printer.wrap, "set cli WRAP")
    shell.session.printer.text(f"WRAP is {'on' if shell.session.printer.wrap else 'off'}")


def _column_width(shell: Shell, width: str) -> None:
    shell.session.printer.column_width = _number(width, "set cli COLUMN-WIDTH N")
    shell.session.printer.text(f"COLUMN-WIDTH is {width}")


def _spool(shell: Shell, file: str) -> None:
    printer = shell.session.printer
    if file.lower() == "off":
        printer.screen.spool(None)
        printer.text("nothing is copied any more")
        return
    name = file.strip("'\"")
    if not name:
        raise ConfigProblem("bad-command", "spool takes the name of a file, or off", hint="spool 'session.log'")
    printer.screen.spool(name)
    printer.text(f"the session is copied to {name}")


def _pipelining(shell: Shell, state: str) -> None:
    session = shell.session
    session.pipelining = _switch(state, session.pipelining, "request-pipelining")
    session.printer.text(f"request-pipelining is {'on' if session.pipelining else 'off'}")


def _run_script(shell: Shell, file: str) -> None:
    name = file if file.startswith("'") else "'" + file.replace("'", "''") + "'"
    shell.run(f"RUN SCRIPT {name};")


def _watch(shell: Shell, rest: str) -> None:
    from ksqlpy.shell.pieces import is_push, split

    first, _, more = rest.partition(" ")
    seconds = _seconds(first)
    sql = (rest if seconds is None else more).strip() or shell.last
    if not sql:
        raise ConfigProblem("bad-command", "there is no statement yet to watch", hint="\\watch 2 SHOW QUERIES;")
    if any(is_push(p) for p in split(sql)):
        raise ConfigProblem("bad-command", "a query with EMIT goes on by itself", hint="run it without \\watch")
    screen = shell.session.printer.screen
    paging, screen.paging = screen.paging, "off"
    try:
        while True:
            _clear(shell, "")
            screen.line(screen.styled(f"every {2 if seconds is None else seconds:g} s, until Ctrl-C: {sql}", "dim"))
            shell.session.printer.begin()
            shell.session.run(sql, complete=True)
            time.sleep(2 if seconds is None else seconds)
    except KeyboardInterrupt:
        shell.session.note("no longer watched")
    finally:
        screen.paging = paging


def _upright(shell: Shell, state: str) -> None:
    printer = shell.session.printer
    if state.lower() == "auto" or (not state and printer.vertical == "on"):
        printer.vertical = "auto"
    else:
        printer.vertical = "on" if not state or _switch(state, False, "\\x") else "off"
    how = {"auto": "where they do not fit", "on": "always", "off": "never"}[printer.vertical]
    printer.text(f"rows stand upright {how}")


def _pager(shell: Shell, mode: str) -> None:
    from ksqlpy.shell.pager import MODES, pager

    screen = shell.session.printer.screen
    if mode:
        screen.paging = _one_of(mode, [m.upper() for m in MODES], "\\pset pager").lower()
    when = {"on": "for long output", "always": "for all output of statements", "off": "never"}[screen.paging]
    command = pager()
    shell.session.printer.text(f"pager {command} is used {when}" if command else "there is no pager: set PAGER")


def _times(shell: Shell, mode: str) -> None:
    from ksqlpy.shell.times import MODES

    printer = shell.session.printer
    if mode:
        printer.times = _one_of(mode, [m.upper() for m in MODES], "\\pset times").lower()
    how = {"utc": "times of UTC", "local": "times of this machine's zone", "millis": "milliseconds since 1970"}
    printer.text(f"ROWTIME, WINDOWSTART and WINDOWEND are shown as {how[printer.times]}")


def _timing(shell: Shell, state: str) -> None:
    shell.timing = _switch(state, shell.timing, "\\timing") if state else not shell.timing
    shell.session.printer.text(f"timing is {'on' if shell.timing else 'off'}")


def _describe(shell: Shell, name: str) -> None:
    shell.run(f"DESCRIBE {name};" if name else "SHOW STREAMS; SHOW TABLES;")


def _functions(shell: Shell, name: str) -> None:
    shell.run(f"DESCRIBE FUNCTION {name};" if name else "SHOW FUNCTIONS;")


def _statement(sql: str) -> Callable[[Shell, str], None]:
    return lambda shell, rest: shell.run(sql)


def _edit(shell: Shell, rest: str) -> None:
    shell.draft = shell.edit(rest or shell.last)


def _include(shell: Shell, file: str) -> None:
    from pathlib import Path

    name = file.strip("'\"")
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {name} cannot be read: {file_reason(e)}") from e
    shell.run(text)


def _load(shell: Shell, rest: str) -> None:
    from ksqlpy.shell.load import load

    load(shell.session, rest)


def _favourite(shell: Shell, name: str) -> None:
    kept = shell.favourites.all()
    if not name:
        shell.session.printer.table(("Name", "Statement"), sorted(kept.items()), "no favourites: \\fs NAME STATEMENT;")
        return
    if name not in kept:
        from ksqlpy.errors import similar_names

        similar = similar_names(name, kept)
        raise ConfigProblem(
            "unknown-favourite", f"there is no favourite {name}", similar=similar, hint="\\f lists them"
        )
    shell.run(kept[name])


def _keep(shell: Shell, rest: str) -> None:
    name, _, sql = rest.partition(" ")
    if not sql.strip():
        raise ConfigProblem("bad-command", "a favourite needs a name and a statement", hint="\\fs NAME STATEMENT;")
    shell.favourites.save(name, sql.strip())
    shell.session.printer.text(f"\\f {name} runs it")


def _forget(shell: Shell, name: str) -> None:
    shell.favourites.save(name, None)
    shell.session.printer.text(f"there is no favourite {name} any more")


def _refresh(shell: Shell, rest: str) -> None:
    shell.refresh()
    shell.session.printer.text("the names for completion are read again")


# ------------------------------------------------------------ what they take


def _one_of(text: str, allowed: Mapping[str, str] | Sequence[str], command: str) -> str:
    if text.upper() not in allowed:
        raise ConfigProblem("bad-command", f"{command} takes {' or '.join(allowed)}, not {text}")
    return text.upper()


def _switch(text: str, now: bool, command: str) -> bool:
    """The state that is meant; without a word the one there is."""
    return _one_of(text, ("ON", "OFF"), command) == "ON" if text else now


def _number(text: str, usage: str) -> int:
    if not text.isdigit() or len(text) > 6:
        raise ConfigProblem("bad-command", f"{text or 'nothing'} is no whole number", hint=usage)
    return int(text)


def _seconds(text: str) -> float | None:
    try:
        return max(float(text), 0.1) if text[:1].isdigit() else None
    except ValueError:
        return None


SPECIALS = [
    Special(
        ("help", "\\?", "\\h"),
        "help [NAME]",
        "Says how a statement, clause, function, property or command is used.",
        _help,
        ("{topics}",),
    ),
    Special(("exit", "quit", "\\q"), "exit, quit, Ctrl-D", "Leaves the shell.", _exit),
    Special(("clear",), "clear", "Clears the screen.", _clear),
    Special(("history",), "history [N]", "Lists what was typed, the last N.", _history),
    Special(("version",), "version", "Shows the versions of shell and server.", _version),
    Special(("server", "\\conninfo"), "server [URL]", "Shows the server, or goes on with another.", _server),
    Special(
        ("output",),
        "output [TABULAR | JSON | CSV]",
        "Shows or changes the form of results.",
        _output,
        ("TABULAR", "JSON", "CSV"),
    ),
    Special(("set cli wrap",), "set cli WRAP on | off", "Folds long values, or cuts them.", _wrap, ("on", "off")),
    Special(
        ("set cli column-width",),
        "set cli COLUMN-WIDTH N",
        "Makes all columns N wide; 0: as wide as they need.",
        _column_width,
    ),
    Special(("spool",), "spool 'FILE' | off", "Copies the session to the end of a file, until off.", _spool, ("off",)),
    Special(
        ("request-pipelining",),
        "request-pipelining [on | off]",
        "With off, a new query is waited for until it runs.",
        _pipelining,
        ("on", "off"),
    ),
    Special(("run script",), "run script 'FILE'", "Runs a file that makes and fills sources.", _run_script),
    Special(("\\i",), "\\i FILE", "Runs a file of any statements.", _include),
    Special(
        ("\\load",),
        "\\load FILE INTO NAME",
        "Inserts the rows of a file: CSV with names in its first line, else a JSON object a line.",
        _load,
    ),
    Special(
        ("\\watch",), "\\watch [SECONDS] [STATEMENT;]", "Runs a statement, or the last one, over and over.", _watch
    ),
    Special(("\\x",), "\\x [on | off | auto]", "Rows stand upright: a column a line.", _upright, ("on", "off", "auto")),
    Special(
        ("\\pset pager",),
        "\\pset pager [on | off | always]",
        "Shows long output in $PAGER, never, or all output.",
        _pager,
        ("on", "off", "always"),
    ),
    Special(
        ("\\pset times",),
        "\\pset times [utc | local | millis]",
        "Shows ROWTIME, WINDOWSTART, WINDOWEND and TIMESTAMPs in tables as times of UTC (as at the start) or of this"
        " machine's zone, or as the server gives them.",
        _times,
        ("utc", "local", "millis"),
    ),
    Special(("\\timing",), "\\timing [on | off]", "Shows how long statements take.", _timing, ("on", "off")),
    Special(("\\d",), "\\d [NAME]", "Lists streams and tables, or describes one.", _describe, ("{sources}",)),
    Special(("\\dt",), "\\dt", "Lists tables.", _statement("SHOW TABLES;")),
    Special(("\\ds",), "\\ds", "Lists streams.", _statement("SHOW STREAMS;")),
    Special(("\\df",), "\\df [NAME]", "Lists functions, or describes one.", _functions, ("{functions}",)),
    Special(("\\dq",), "\\dq", "Lists queries.", _statement("SHOW QUERIES;")),
    Special(("\\l",), "\\l", "Lists topics.", _statement("SHOW TOPICS;")),
    Special(("\\e",), "\\e [STATEMENT]", "Opens a statement, or the last one, in $EDITOR.", _edit),
    Special(("\\f",), "\\f [NAME]", "Lists favourites, or runs one.", _favourite),
    Special(("\\fs",), "\\fs NAME STATEMENT;", "Keeps a statement as a favourite.", _keep),
    Special(("\\fd",), "\\fd NAME", "Forgets a favourite.", _forget),
    Special(("\\refresh",), "\\refresh", "Reads the names for completion again.", _refresh),
]
"""Extension point: the commands, in the order of ``help``."""


def _by_name() -> list[tuple[str, Special]]:
    """The longer names first: ``set cli wrap`` before what begins like it."""
    return sorted(((n, s) for s in SPECIALS for n in s.names), key=lambda pair: -len(pair[0]))

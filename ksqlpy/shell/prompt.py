"""The prompt: prompt-toolkit with this language's colours, completion, keys and history."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History, ThreadedHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import Lexer, SimpleLexer
from prompt_toolkit.styles import Style

from ksqlpy.completion.names import Names
from ksqlpy.errors import as_problem
from ksqlpy.shell.special import submits
from ksqlpy.shell.style import CONTINUED, PROMPT, STYLE

if TYPE_CHECKING:
    from ksqlpy.shell.session import Session
    from ksqlpy.shell.watcher import Watcher

__all__ = ["Prompt", "edited"]


_FILE = re.compile(r"\s*(?:run\s+script|spool|\\i)\s+'?([^']*)", re.IGNORECASE)
_PATHS = PathCompleter(expanduser=True)


class Prompt:
    """Reads statements and commands from a terminal. ``ready`` is called when it is drawn for the first time."""

    def __init__(self, session: Session, watcher: Watcher, history: History, ready: Callable[[], None]) -> None:
        self._session, self._watcher = session, watcher
        self._prompt: PromptSession[str] = PromptSession(
            [("class:prompt", PROMPT)],
            multiline=True,
            prompt_continuation=[("class:continuation", CONTINUED)],
            history=ThreadedHistory(history),
            search_ignore_case=True,
            lexer=_Colours(watcher),
            completer=_Names(session, watcher),
            complete_while_typing=True,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            bottom_toolbar=self._toolbar,
            key_bindings=_keys(),
            style=Style(list(STYLE.items())),
            include_default_pygments_style=False,
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
        )
        self._ready: Callable[[], None] | None = ready
        self._prompt.app.after_render += self._drawn

    def read(self, draft: str = "") -> str:
        """The next text; ``draft``: what stands there already. Raises EOFError, KeyboardInterrupt."""
        # Its own handler of exceptions shows tracebacks over the prompt; asyncio's writes to the log.
        with _without_tracebacks():
            return self._prompt.prompt(default=draft, set_exception_handler=False)

    def redraw(self) -> None:
        """Draws anew what has changed; from any thread."""
        if self._prompt.app.is_running:
            self._prompt.app.invalidate()

    def _drawn(self, app: object) -> None:
        if self._ready is not None:
            ready, self._ready = self._ready, None
            ready()

    def _toolbar(self) -> StyleAndTextTuples:
        from ksqlpy.shell.toolbar import toolbar

        now, output = self._watcher, self._session.printer.format
        room = self._prompt.app.output.get_size().columns
        return [*toolbar(now.url, now.state, now.queries, now.failed, output, now.backlog, room)]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add(Keys.Vt100MouseEvent)
    def _(event: KeyPressEvent) -> None:
        """Colours in what is pasted, such as ESC[31m, look like reports of a mouse, which is not listened to."""

    typing = has_focus(DEFAULT_BUFFER)  # not in the search of the history

    @keys.add("enter", filter=typing & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("enter", filter=typing & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if submits(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("f4")
    def _(event: KeyPressEvent) -> None:
        vi = event.app.editing_mode == EditingMode.VI
        event.app.editing_mode = EditingMode.EMACS if vi else EditingMode.VI

    return keys


@contextlib.contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Lets what fails beside the prompt, such as a completion, be one line of the log."""

    def shorten(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception) and not os.environ.get("KSQLPY_TRACEBACK"):
            record.msg, record.args, record.exc_info = "the prompt: %s", (as_problem(error).message,), None
        return True

    log = logging.getLogger("asyncio")
    log.addFilter(shorten)
    try:
        yield
    finally:
        log.removeFilter(shorten)


class _Colours(Lexer):
    """The language's lexer, as soon as it is loaded."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._lexer: Lexer = SimpleLexer()
        self._loaded = False

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        if self._watcher.loaded and not self._loaded:
            from prompt_toolkit.lexers import PygmentsLexer

            from ksqlpy.sql.highlight import KsqlLexer

            self._lexer, self._loaded = PygmentsLexer(KsqlLexer), True
        return self._lexer.lex_document(document)

    def invalidation_hash(self) -> bool:
        return self._watcher.loaded


class _Names(Completer):
    """Completion with what the server has and the session knows."""

    def __init__(self, session: Session, watcher: Watcher) -> None:
        self._session, self._watcher = session, watcher
        self._names = self._from = Names()

    def names(self) -> Names:
        """The watcher's names with the session's variables."""
        now, variables = self._watcher.names, dict(self._session.variables)
        if now is not self._from or variables != self._names.variables:
            self._from, self._names = now, now.with_variables(variables)
        return self._names

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        from ksqlpy.completion.complete import complete

        before = document.text_before_cursor
        file = _FILE.fullmatch(before)
        if file is not None:
            yield from _PATHS.get_completions(Document(file[1]), event)
        if event.text_inserted and before.rstrip()[-1:] in ("", ";"):
            return  # nobody has asked, and a statement has just ended
        found = complete(before, self.names(), document.text_after_cursor)
        for s in found:
            yield Completion(s.text, -s.length, display_meta=s.note)


def edited(text: str) -> str:
    """The text as it comes back from the person's editor; raises ConfigProblem ``no-editor``."""
    import shlex
    import subprocess
    import tempfile

    from ksqlpy.errors import ConfigProblem, file_reason

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    command: Sequence[str] = shlex.split(editor)
    with tempfile.NamedTemporaryFile("w+", suffix=".sql", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            subprocess.run([*command, file.name], check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            raise ConfigProblem(
                "no-editor", f"the editor {editor} failed: {file_reason(e)}", hint="EDITOR names another"
            ) from e
        with open(file.name, encoding="utf-8") as written:
            return written.read().strip()

"""What can stand at the cursor: a pure function of the text and the names.

Statements are read by the language's own parser, which notes at each place what it looked for: so a suggestion never
disagrees with it, and new syntax completes by itself. Where the text before the cursor is already wrong, the last
clause word says what is likely.
"""

from __future__ import annotations

import contextlib
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ksqlpy.completion.names import Names
from ksqlpy.completion.scope import Scope, scope_of
from ksqlpy.completion.vocabulary import AFTER_OPERAND, CLAUSES, FORMATS, TYPES, WHOLE, WITH_PROPERTIES
from ksqlpy.errors import SyntaxProblem
from ksqlpy.grammar import reserved
from ksqlpy.sql.cursor import needs_quotes
from ksqlpy.sql.statements import Statements
from ksqlpy.sql.tokens import IDENTIFIER, NUMBER, RESERVED, STRING, WORD, Token, tokenize

__all__ = ["KINDS", "LIMIT", "Suggestion", "complete"]

LIMIT = 300
"""Suggestions at most; who types another letter sees others."""

LONGEST = 10_000
"""Tokens of a statement ahead of the cursor: one that has more is not read again at each key."""

_LETTERS = f"{string.ascii_letters}{string.digits}_@"
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_@]*)\Z")


KINDS = (
    "keyword",
    "source",
    "column",
    "function",
    "type",
    "property",
    "value",
    "topic",
    "query",
    "role",
    "variable",
    "condition",
    "command",
)
"""What a suggestion may be; ``value``: of a property, ``command``: of the shell."""


@dataclass(frozen=True)
class Suggestion:
    """A text for the cursor: it takes the place of the ``length`` characters before; ``note`` says what it is.

    ``kind``: one of :data:`KINDS`; ``label``: the text without what only belongs to writing it, as a parenthesis.
    """

    text: str
    length: int
    note: str = ""
    kind: str = "keyword"
    label: str = ""


WORDS, NAMES = "words", "names"


@dataclass(frozen=True)
class _Offer:
    """Something that may stand there: ``name`` is what is compared with what is typed.

    ``fold``: whose case it follows, that of words of the language (WORDS) or of names (NAMES); else its own.
    """

    name: str
    note: str = ""
    text: str = ""
    fold: str = ""
    kind: str = "keyword"


def complete(before: str, names: Names, after: str = "") -> list[Suggestion]:
    """What can stand between two texts, best first; nothing inside of a comment."""
    if (found := _VARIABLE.search(before)) is not None:
        offers = [_Offer(n, _short(v), f"${{{n}}}", kind="variable") for n, v in sorted(names.variables.items())]
        return _fitting(offers, found[1], found[0], before)
    command = _command(before, names)
    if command is not None:
        return command
    try:
        tokens = tokenize(before)
    except SyntaxProblem as e:
        return _inside(before, e, names)
    if "--" in before[tokens[-1].end + 1 if tokens else 0 :].rsplit("\n", 1)[-1]:
        return []
    prefix = before[len(before.rstrip(_LETTERS)) :]  # a regular expression would begin at each letter of long words
    if prefix and tokens:
        tokens = tokens[:-1]
    statement = _statement(tokens)
    if len(statement) > LONGEST:
        return []
    offers = list(_offers(statement, names, after, prefix))
    return _fitting(offers, prefix, prefix, before)


def _statement(tokens: list[Token]) -> list[Token]:
    """The tokens behind the last semicolon."""
    ends = (i for i in range(len(tokens) - 1, -1, -1) if tokens[i].text == ";" and tokens[i].token_type is not STRING)
    return tokens[next(ends, -1) + 1 :]


# ------------------------------------------------------------ places without the parser


def _command(before: str, names: Names) -> list[Suggestion] | None:
    """What the shell's own commands take; None for what is none."""
    line = before.lstrip()
    if "\n" in line:
        return None
    if line.startswith("\\") and " " not in line:
        own = [_Offer(n, h, kind="command") for n, h in names.commands.items() if n[0] == "\\"]
        return _fitting(own, line, line, before)
    for name, arguments in names.arguments.items():
        if line.lower().startswith(f"{name.lower()} "):
            typed = line[len(name) + 1 :].lstrip()
            offers = [o for a in arguments for o in _argument(a, names)]
            return _fitting(offers, typed, typed, before)
    return None


def _argument(kind: str, names: Names) -> Iterator[_Offer]:
    match kind:
        case "{sources}":
            yield from _sources(names, None)
        case "{functions}":
            yield from (_Offer(f.name, f.help, fold=WORDS, kind="function") for f in names.functions.values())
        case "{topics}":
            yield from (_Offer(n, fold=WORDS) for n in names.statements)
        case _:
            yield _Offer(kind, fold=WORDS, kind="command")


def _inside(before: str, problem: SyntaxProblem, names: Names) -> list[Suggestion]:
    """What can stand in a string or a quoted name that has not ended yet."""
    if problem.span is None or problem.code not in ("unterminated-string", "unterminated-identifier"):
        return []
    start = problem.span.start
    typed = before[start + 1 :]
    tokens = _statement(tokenize(before[:start]))
    if len(tokens) > LONGEST:
        return []
    quote = before[start]
    if quote != "'":
        scope = scope_of(tokens, [], names)
        sources = [_Offer(s.name, text=f"{quote}{s.name}{quote}", kind="source") for s in names.sources.values()]
        columns = [_Offer(c.name, text=f"{quote}{c.name}{quote}", kind="column") for c, _ in scope.columns()]
        return _fitting([*sources, *columns], typed, before[start:], before)
    offers = [replace(o, text=f"'{o.name}'") for o in _strings(tokens, names)]
    return _fitting(offers, typed, before[start:], before)


def _strings(tokens: Sequence[Token], names: Names) -> Iterator[_Offer]:
    """What a string may hold behind these tokens."""
    words = [t.text.upper() for t in tokens]
    if words[:1] in (["SET"], ["UNSET"]) and len(words) == 1:
        yield from (_Offer(n, h, kind="property") for n, h in names.properties.items())
    elif words[:1] == ["PRINT"] or words[-1:] == ["TOPIC"]:
        yield from (_Offer(t, "topic", kind="topic") for t in names.topics)
    elif words[-1:] == ["="] and len(words) > 1:
        yield from _values(words[-2], names)


def _values(name: str, names: Names) -> Iterator[_Offer]:
    """The values of a property of WITH or of SET, where there are a few only."""
    if name.endswith("FORMAT") and name != "TIMESTAMP_FORMAT":
        yield from (_Offer(f, "format", kind="value") for f in FORMATS)
    elif name == "KAFKA_TOPIC":
        yield from (_Offer(t, "topic", kind="topic") for t in names.topics)
    elif name == "WINDOW_TYPE":
        yield from (_Offer(w, kind="value") for w in Statements.WINDOWS)
    elif name == "VALUE_ENVELOPE":
        yield _Offer("DEBEZIUM", kind="value")
    elif name == "AUTO.OFFSET.RESET":
        yield from (_Offer(w, kind="value") for w in ("earliest", "latest"))
    elif name == "PROCESSING.GUARANTEE":
        yield from (_Offer(w, kind="value") for w in ("exactly_once", "at_least_once"))
    elif name == "ISOLATION.LEVEL":
        yield from (_Offer(w, kind="value") for w in ("read_committed", "read_uncommitted"))


# ------------------------------------------------------------ places that the parser knows


class _Reader(Statements):
    """Reads the tokens before the cursor, to see what it looked for at their end."""

    def wanted(self) -> list[str]:
        """What could stand behind the last token: words in upper case, or what kind of thing."""
        if not self.tokens:
            return list(self.STATEMENTS)
        with contextlib.suppress(SyntaxProblem):
            self.statement()
        missing = len(self.tokens) - self._wanted_at
        if missing == 0:
            return self._wanted
        # Of GROUP BY and the like the first words may be there.
        there = self._texts[self._wanted_at : len(self.tokens)] if 0 < missing < 3 else []
        starts = (w.split() for w in self._wanted)
        return [" ".join(w[missing:]) for w in starts if there and w[:missing] == there and len(w) > missing]

    def reaches(self) -> bool:
        """Whether the last token is of the language where it stands."""
        try:
            self.statement()
        except SyntaxProblem:
            return self.index >= len(self.tokens)
        return self.done


def _offers(tokens: list[Token], names: Names, after: str, prefix: str) -> Iterator[_Offer]:
    if not tokens:
        yield from (_Offer(w, "statement", fold=WORDS) for w in Statements.STATEMENTS)
        yield from (_Offer(n, h, fold=WORDS, kind="command") for n, h in names.commands.items() if n[0] != "\\")
        return
    scope = scope_of(tokens, _rest(after), names)
    last = tokens[-1].text if tokens[-1].token_type is not STRING else ""
    if last in ("->", "."):
        fields = scope.fields(tokens)
        yield from (_Offer(_quoted(f.name), f.type, fold=NAMES, kind="column") for f in fields)
        if last == "." or fields:
            yield _Offer("*", "all of them")
        return
    words = [t.text.upper() if t.token_type in (WORD, RESERVED) else "" for t in tokens]
    following = [w[1] for w in CLAUSES if w[0] == words[-1]]
    if following and len(tokens) > 1 and tokens[-2].text not in (",", "SELECT", "("):
        yield from (_Offer(w, fold=WORDS) for w in following)
        return
    if words == ["DESCRIBE", "FUNCTION"]:
        yield from _argument("{functions}", names)
        return
    wanted = _Reader(tokens, " " * (tokens[-1].end + 1)).wanted() or list(_likely(words))
    if "an expression" not in wanted and _ends_operand(tokens[-1]) and scope.conditional:
        yield from (_Offer(w, fold=WORDS) for w in AFTER_OPERAND if _possible(tokens, w))
    for want in wanted:
        if want[:1].isupper():
            yield _Offer(WHOLE.get(want, want), fold=WORDS)
        elif want == "*" and last.upper() in ("SELECT", ","):
            yield _Offer("*", "all columns")
        elif want in ("a string", "a literal", "a value in '…'"):
            if len(tokens) > 1:
                yield from (replace(o, text=f"'{o.name}'") for o in _values(tokens[-2].text.upper(), names))
        else:
            yield from _named(want, words, names, scope, prefix)
    if words == ["DESCRIBE"]:
        yield _Offer("FUNCTION", fold=WORDS)


def _rest(after: str) -> list[Token]:
    """The tokens behind the cursor, up to the end of the statement; none where they cannot be read."""
    for text in (after, after.partition(";")[0]):
        try:
            tokens = tokenize(text)
        except SyntaxProblem:
            continue
        return next((tokens[:i] for i, t in enumerate(tokens) if t.text == ";"), tokens)
    return []


def _likely(words: Sequence[str]) -> Iterator[str]:
    """What is probably wanted where the text before is no statement: a source behind FROM, else an expression."""
    for word in reversed(words):
        if word in ("FROM", "JOIN", "INTO"):
            yield "a stream or table"
            return
        if word in ("SELECT", "WHERE", "ON", "BY", "HAVING", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE"):
            yield "an expression"
            return


def _named(want: str, words: Sequence[str], names: Names, scope: Scope, prefix: str) -> Iterator[_Offer]:
    """The things that the parser describes in words."""
    match want:
        case "an expression":
            if scope.joining and words[-1] == "ON":
                yield from _conditions(scope)
            yield from _columns(scope, names, prefix)
            yield from (
                _Offer(f.name, f.signatures[0] if f.signatures else f.kind.lower(), f"{f.name}(", WORDS, "function")
                for f in names.functions.values()
            )
            yield from (_Offer(w, fold=WORDS) for w in ("CASE", "CAST", "NULL", "TRUE", "FALSE", "NOT"))
        case "a stream or table" | "a table":
            tables_only = want == "a table"
            yield from (_Offer(n, "query in WITH", fold=NAMES, kind="source") for n in scope.common)
            yield from _sources(names, "TABLE" if tables_only else None)
        case "the name of the stream" | "the name of the table" if words[0] in ("DROP", "ALTER", "ASSERT"):
            yield from _sources(names, want.split()[-1].upper())
        case "the name of the type" if words[0] == "DROP":
            yield from (_Offer(_quoted(n), t, fold=NAMES, kind="type") for n, t in names.types.items())
        case "a column name" if words[0] in ("INSERT", "ASSERT"):
            yield from _columns(scope, names, prefix)
        case "a query id":
            yield from (_Offer(q, s.lower(), fold=NAMES, kind="query") for q, s in names.queries.items())
        case "the name of the role" if words[0] != "CREATE":
            # GRANT, REVOKE and DROP are of those that are made here; the others have the rights that they have.
            every = words[0] in ("SHOW", "LIST")
            offered = ((r, built_in) for r, built_in in names.roles.items() if every or not built_in)
            yield from (_Offer(_quoted(r), "built in" if b else "role", "", NAMES, "role") for r, b in offered)
        case "a topic":
            yield from (_Offer(t, "topic", f"'{t}'", kind="topic") for t in names.topics)
        case "a variable" if words[0] == "UNDEFINE":
            yield from (_Offer(n, _short(v), fold=NAMES, kind="variable") for n, v in names.variables.items())
        case "a property":
            yield from (_Offer(p, h, fold=WORDS, kind="property") for p, h in WITH_PROPERTIES.items())
        case "a property in '…'":
            yield from (_Offer(p, h, f"'{p}'", kind="property") for p, h in names.properties.items())
        case "a type":
            yield from (_Offer(t, "type", fold=WORDS, kind="type") for t in TYPES)
            yield from (_Offer(_quoted(n), t, fold=NAMES, kind="type") for n, t in names.types.items())
        case "a time unit":
            yield from (_Offer(u, fold=WORDS) for u in Statements.UNITS if u.endswith("S"))


def _sources(names: Names, kind: str | None) -> Iterator[_Offer]:
    for s in names.sources.values():
        if kind is None or s.kind == kind:
            yield _Offer(_quoted(s.name), s.kind.lower(), fold=NAMES, kind="source")


def _columns(scope: Scope, names: Names, prefix: str) -> Iterator[_Offer]:
    """The columns of the statement's sources; where it names none yet, those of all."""
    if scope.empty:
        sought = prefix.upper()
        fitting = ((c, of) for c, of in names.columns if sought in c.name.upper())
        yield from (_Offer(_quoted(c.name), f"{c.type}, {of}", "", NAMES, "column") for c, of in islice(fitting, LIMIT))
        return
    for column, alias in scope.columns():
        text = f"{_quoted(alias)}.{_quoted(column.name)}" if alias else _quoted(column.name)
        yield _Offer(_quoted(column.name), column.type + (" key" if column.key else ""), text, NAMES, "column")
    if scope.many:
        yield from (_Offer(_quoted(a), "source", f"{_quoted(a)}.", NAMES, "source") for a in scope.aliases)


def _conditions(scope: Scope) -> Iterator[_Offer]:
    """Whole conditions of a join."""
    for alias, ours, joined, theirs in scope.joins():
        text = f"{_quoted(alias)}.{_quoted(ours.name)} = {_quoted(joined)}.{_quoted(theirs.name)}"
        yield _Offer(text, f"{ours.type}, key of {joined if theirs.key else alias}", fold=NAMES, kind="condition")


def _ends_operand(token: Token) -> bool:
    return token.token_type in (WORD, IDENTIFIER, NUMBER, STRING) or token.text.upper() in (")", "]", "END", "NULL")


def _possible(tokens: list[Token], words: str) -> bool:
    more = tokenize(words)
    return _Reader([*tokens, *more], " " * (tokens[-1].end + 1) + words).reaches()


# ------------------------------------------------------------ which fit what is typed


def _fitting(offers: Iterable[_Offer], typed: str, replaced: str, before: str) -> list[Suggestion]:
    """The offers that what is typed may become: those that begin with it, then those of which a part does, then others.

    ``replaced``: what a suggestion takes the place of. Offers keep their order within each group.
    """
    low = _lower_cases(typed, before)
    sought = typed.upper()
    ranked: list[tuple[int, Suggestion]] = []
    seen: set[str] = set()
    for offer in offers:
        rank = _rank(offer.name.upper().strip("`"), sought) if sought else 0
        if rank is None:
            continue
        text, label = offer.text or offer.name, offer.name
        if low.get(offer.fold) and "`" not in text:
            text, label = text.lower(), label.lower()
        if text not in seen and text != replaced:
            seen.add(text)
            ranked.append((rank, Suggestion(text, len(replaced), offer.note, offer.kind, label)))
    ranked.sort(key=lambda r: r[0])
    worst = 2 if ranked and ranked[0][0] < 3 else 3
    return [s for rank, s in ranked[:LIMIT] if rank <= worst]


def _rank(name: str, sought: str) -> int | None:
    """0: begins with it; 1: a part behind ``_`` does; 2: has it; 3: has its letters in this order."""
    if name.startswith(sought):
        return 0
    place = name.find(sought)
    if place > 0 and not name[place - 1].isalnum():
        return 1
    if len(sought) < 2:
        return None
    if place > 0:
        return 2
    letters = iter(name)
    return 3 if name[0] == sought[0] and all(c in letters for c in sought) else None


def _lower_cases(typed: str, before: str) -> Mapping[str, bool]:
    """Whether the person writes words and names in lower case: what is typed says it, or the last one before."""
    if any(c.isalpha() for c in typed):
        return dict.fromkeys((WORDS, NAMES), typed.islower())
    reserved_words = reserved()
    found = {WORDS: False, NAMES: False}
    last = re.findall(r"[A-Za-z_]+", before[-1000:])[-12:]
    for word in last:
        found[WORDS if word.upper() in reserved_words else NAMES] = word.islower()
    if not any(word.upper() not in reserved_words for word in last):
        found[NAMES] = found[WORDS]
    return found


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`" if needs_quotes(name) else name


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"

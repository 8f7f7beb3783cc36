"""Random literals and names through every clause that takes them: what comes out is what was put in.

Many of them stand in each plan: a source has rows of them, and in its queries every one of them stands in every clause.
``pytest tests/generated/test_generated_literals.py --generated 100000`` sends so many through.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.analysis.typed import SYSTEM
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.sql import parse, to_sql
from ksqlpy.testing.memory import EARLIEST, MemoryEngine, run_query
from ksqlpy.testing.records import Record
from tests.generated.generated_texts import distinct, like, name, pattern, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 20
AT_ONCE = 60
"""Literals in a plan, and as many names."""

STATES = 25
"""In one of so many plans they also stand beside states, which take seconds."""

FEW = 30
"""Of what is a statement's part or a column of its own."""

HEADERS = 10
"""Header keys of a source."""

OWN = {"ID", "X", "P", "J", "S", *SYSTEM, *(f"H{k}" for k in range(HEADERS))}
DELIMITERS = [chr(c) for c in range(1, 127) if not chr(c).isalnum() and chr(c) not in '"\r\n'] + ["é", "☃"]

pytestmark = pytest.mark.spark


@dataclass
class Round:
    """One source, its rows, and what queries of it must give.

    ``wanted``: by topic and key the columns that its record must have; None where there must be none.
    """

    values: list[str]
    names: list[str]
    rng: random.Random
    number: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    wanted: dict[str, dict[int, dict[str, Any] | None]] = field(default_factory=dict)

    def topic(self) -> str:
        letters = "abcXYZ019._-"
        return f"t{len(self.statements)}." + "".join(self.rng.choices(letters, k=self.rng.randint(1, 200)))

    def first(self, expression: str) -> str:
        """An expression for the first row only: its value has all literals."""
        return f"CASE WHEN id = 0 THEN {expression} END"


def declared(r: Round) -> str:
    """The source: names as columns and as fields; the rows beyond the values are for WHERE to drop."""
    topic, n = r.topic(), len(r.values)
    columns = "".join(f", {name(m)} STRING" for m in r.names[:FEW])
    columns += "".join(f", h{k} BYTES HEADER({quote(v)})" for k, v in enumerate(r.values[:HEADERS]))
    fields = ", ".join(f"{name(m)} STRING" for m in r.names)
    r.statements.append(
        f"CREATE STREAM s (id INT KEY, x STRING, p STRING, j STRING, s STRUCT<{fields}>{columns})"
        f" WITH (KAFKA_TOPIC = {quote(topic)}, value_format = 'JSON', partitions = 1);"
    )
    for i, (v, m) in enumerate(zip(r.values, r.names, strict=True)):
        row = {"X": v, "P": like(v, "!"), "J": json.dumps({m: v}, ensure_ascii=i % 2 == 0), "S": {m: v}}
        r.rows.append(row | {column: r.values[(i + k) % n] for k, column in enumerate(r.names[:FEW])})
    known = set(r.values)
    r.rows += [{"X": x} for v in r.values[:FEW] if (x := v + "#") not in known]
    return topic


Wanted = Callable[[int, str], Any]


@dataclass(frozen=True)
class Own:
    """What equals an array that has this value at this place: each row has a call of its own, and does all."""

    place: int
    value: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and other[self.place] == self.value

    def __hash__(self) -> int:
        return hash((self.place, self.value))


def query(r: Round, columns: dict[str, tuple[str, Wanted]], source: str, where: str) -> None:
    """A query with these columns: each an expression and what it gives for a row, by its number and text."""
    topic = r.topic()
    r.wanted[topic] = {i: {a: want(i, v) for a, (_, want) in columns.items()} for i, v in enumerate(r.values)}
    r.wanted[topic] |= {i: None for i in range(len(r.values), len(r.rows))}
    chosen = ", ".join(f"{e} AS {name(a)}" for a, (e, _) in columns.items())
    r.statements.append(
        f"CREATE STREAM o{len(r.statements)} WITH (KAFKA_TOPIC = {quote(topic)}, value_format = 'JSON') AS"
        f" SELECT id, {chosen} FROM {source} WHERE {where};"
    )


def conditions(r: Round) -> None:
    """Literals that are compared, and patterns of LIKE."""
    values, a = r.values, r.names

    def matches(i: int, v: str) -> str:
        plain = i % 2 and not set(v) & {"%", "_"}
        return f"x LIKE {quote(v)}" if plain else f"x LIKE {quote(like(v, '!'))} ESCAPE '!'"

    equal = ", ".join(f"x = {quote(v)}" for v in values)
    likes = ", ".join(matches(i, v) for i, v in enumerate(values))
    columns: dict[str, tuple[str, Wanted]] = {
        a[0]: (f"ARRAY[{equal}]", lambda i, v: [i == k for k in range(len(values))]),
        a[1]: (f"x NOT IN ({', '.join(map(quote, values[1:]))})", lambda i, v: i == 0),
        a[2]: (f"ARRAY[{likes}]", lambda i, v: [i == k for k in range(len(values))]),
        a[3]: ("x LIKE p ESCAPE '!'", lambda i, v: True),
    }
    query(r, columns, "s", " OR ".join(f"x = {quote(v)}" for v in values))


CALLS: tuple[tuple[Callable[[str, str, str], str], Callable[[str, str], str]], ...] = (
    (lambda v, w, m: f"CONCAT({quote(v)}, x, {quote(w)})", lambda v, w: v + v + w),
    (lambda v, w, m: f"x + {quote(w)}", lambda v, w: v + w),
    (lambda v, w, m: f"REPLACE('<' + x + '>', {quote(v or '<')}, {quote(w)})",
     lambda v, w: f"<{v}>".replace(v or "<", w)),
    (lambda v, w, m: f"REGEXP_REPLACE(x + 'Q', {quote(f'^{pattern(v)}Q$')}, {quote(replacement(w))})", lambda v, w: w),
    (lambda v, w, m: f"REGEXP_EXTRACT({quote(f'^({pattern(v)})$')}, x, 1)", lambda v, w: v),
    (lambda v, w, m: f"REGEXP_SPLIT_TO_ARRAY(x + 'Q' + x, {quote(f'Q{pattern(v)}$')})[1]", lambda v, w: v),
    (lambda v, w, m: f"ARRAY_JOIN(SPLIT(x + {quote(v or 'Q')}, {quote(v or 'Q')}), '|')",
     lambda v, w: "|".join((v + (v or "Q")).split(v or "Q"))),
    (lambda v, w, m: f"CAST(INSTR({quote(w)} + x, {quote(w + v)}) AS STRING)", lambda v, w: "1"),
    (lambda v, w, m: f"CAST(FIELD(x, {quote(v + '#')}, {quote(v)}) AS STRING)", lambda v, w: "2"),
    (lambda v, w, m: f"FORMAT_DATE(FROM_DAYS(0), {quote(quote(v or '-'))})", lambda v, w: v or "-"),
    (lambda v, w, m: f"MAP({quote(v)} := {quote(w)}, {quote(v + '#')} := 'no')[x]", lambda v, w: w),
    (lambda v, w, m: f"MAP({quote(v)} := x)[{quote(v)}]", lambda v, w: v),
    (lambda v, w, m: f"EXTRACTJSONFIELD(j, {quote(path(m))})", lambda v, w: v),
    (lambda v, w, m: f"TRANSFORM(ARRAY[x], {name(m)} => {name(m)} + {quote(w)})[1]", lambda v, w: v + w),
    (lambda v, w, m: f"STRUCT({name(m)} := {quote(v)})->{name(m)}", lambda v, w: v),
    (lambda v, w, m: f"COALESCE(NULLIF(x, {quote(v)}), {quote(w)})", lambda v, w: w),
    (lambda v, w, m: f"CASE WHEN x BETWEEN {quote(v)} AND {quote(v)} THEN {quote(w)} END", lambda v, w: w),
    (lambda v, w, m: f"ENCODE({quote(v + '+')}, 'utf8', 'base64')",
     lambda v, w: base64.b64encode(f"{v}+".encode()).decode()),
    (lambda v, w, m: f"CONCAT_WS({quote(w)}, x, x)", lambda v, w: v + w + v),
)  # fmt: skip
"""Calls with a text, another one and a name as literals, and what they give where x is the text."""


def texts(r: Round) -> None:
    """Literals that are values, or arguments of functions: each in one of the calls."""
    values, a = r.values, r.names
    after = [*values[1:], values[0]]
    calls = [CALLS[(i + r.number) % len(CALLS)] for i in range(len(values))]
    called = [call(v, w, m) for v, w, m, (call, _) in zip(values, after, a, calls, strict=True)]
    columns: dict[str, tuple[str, Wanted]] = {
        a[-1]: (r.first(f"ARRAY[{', '.join(map(quote, values))}]"), lambda i, v: None if i else values),
        a[-2]: (f"ARRAY[{', '.join(called)}]", lambda i, v: Own(i, calls[i][1](v, after[i]))),
    }
    query(r, columns, "s", f"id < {len(values)}")


def names(r: Round) -> None:
    """Names of columns, of fields, of relations."""
    a, alias, n = r.names, r.names[-1], len(r.values)
    columns: dict[str, tuple[str, Wanted]] = {
        a[-1 - k]: (f"{name(alias)}.{name(m)}", lambda i, v, k=k: r.values[(i + k) % n])  # type: ignore[misc]
        for k, m in enumerate(a[:FEW])
    }
    fields = ", ".join(f"{name(m)} := {quote(v)}" for m, v in zip(a, r.values, strict=True))
    columns |= {
        a[FEW]: (f"COALESCE({', '.join(f's->{name(m)}' for m in a)})", lambda i, v: v),
        a[FEW + 1]: (r.first(f"STRUCT({fields})"), lambda i, v: None if i else dict(zip(a, r.values, strict=True))),
        a[FEW + 2]: (r.first("s"), lambda i, v: None if i else {m: None if k else v for k, m in enumerate(a)}),
        a[FEW + 3]: ("CAST(s AS STRING)", lambda i, v: f"Struct{{{a[i]}={v}}}"),
        a[FEW + 4]: (
            f"ARRAY[{', '.join(of_header(k) for k in range(HEADERS))}]",
            lambda i, v: [header + "#" for header in r.values[:HEADERS]],
        ),
    }
    query(r, columns, f"s {name(alias)}", f"{name(alias)}.id < {n}")


def grouped(r: Round) -> None:
    """Names and literals beside a state: of groups in windows, and of a join."""
    a, v, n = r.names, r.values, len(r.values)
    topic, table, joined = r.topic(), r.topic() + "t", r.topic() + "j"
    r.statements += [
        f"CREATE TABLE g WITH (KAFKA_TOPIC = {quote(topic)}, value_format = 'JSON') AS SELECT id,"
        f" COUNT(*) AS {name(a[2])}, LATEST_BY_OFFSET({name(a[3])}) AS {name(a[4])},"
        f" COLLECT_LIST(x + {quote(v[0])}) AS {name(a[5])}, HISTOGRAM({name(a[6])}) AS {name(a[7])}"
        f" FROM s {name(a[8])} WINDOW TUMBLING (SIZE 1 HOUR) WHERE {name(a[8])}.x <> {quote(v[0])} AND id < {n}"
        f" GROUP BY id HAVING MAX(x) <> {quote(v[1])};",
        f"CREATE TABLE k (id INT PRIMARY KEY, {name(a[1])} STRING)"
        f" WITH (KAFKA_TOPIC = {quote(table)}, value_format = 'JSON', partitions = 1);",
        *(f"INSERT INTO k (id, {name(a[1])}) VALUES ({i}, {quote(x)});" for i, x in enumerate(v[:FEW])),
        f"CREATE STREAM j WITH (KAFKA_TOPIC = {quote(joined)}, value_format = 'JSON') AS"
        f" SELECT {name(a[9])}.id AS id, {name(a[10])}.{name(a[1])} AS {name(a[2])},"
        f" {name(a[9])}.{name(a[3])} + {quote(v[0])} AS {name(a[4])} FROM s {name(a[9])} JOIN k {name(a[10])}"
        f" ON {name(a[9])}.id = {name(a[10])}.id WHERE {name(a[10])}.{name(a[1])} <> {quote(v[0])};",
    ]
    r.wanted[topic] = {
        i: {a[2]: 1, a[4]: v[(i + 3) % n], a[5]: [v[i] + v[0]], a[7]: {v[(i + 6) % n]: 1}} for i in range(2, n)
    }
    r.wanted[joined] = {i: {a[2]: v[i], a[4]: v[(i + 3) % n] + v[0]} for i in range(1, FEW)}


def delimited(r: Round) -> None:
    """Values between delimiters, written and read again."""
    between = r.rng.choice(DELIMITERS)
    r.statements.append(
        f"CREATE STREAM d WITH (value_format = 'DELIMITED', value_delimiter = {quote(between)}) AS"
        f" SELECT id, x AS {name(r.names[0])}, {quote(between)} + x AS {name(r.names[1])} FROM s;"
    )
    topic = r.topic()
    r.statements.append(
        f"CREATE STREAM e WITH (KAFKA_TOPIC = {quote(topic)}, value_format = 'JSON') AS SELECT * FROM d;"
    )
    r.wanted[topic] = {
        i: {r.names[0]: row["X"] or None, r.names[1]: between + row["X"]} for i, row in enumerate(r.rows)
    }


def inserted(r: Round) -> None:
    """Literals of INSERT, and variables."""
    topic = r.topic()
    columns = ", ".join(map(name, r.names[:FEW]))
    r.statements.append(
        f"CREATE STREAM i (id INT KEY, {', '.join(f'{name(m)} STRING' for m in r.names[:FEW])})"
        f" WITH (KAFKA_TOPIC = {quote(topic)}, value_format = 'JSON', partitions = 1);"
    )
    r.wanted[topic] = {}
    for key, values in enumerate((r.values[:FEW], r.values[-FEW:])):
        defined = "".join(f"DEFINE v{k} = {quote(v)};\n" for k, v in enumerate(values))
        given = ", ".join(map(quote, values)) if key else ", ".join(f"'${{v{k}}}'" for k in range(len(values)))
        r.statements.append(f"{'' if key else defined}INSERT INTO i (id, {columns}) VALUES ({key}, {given});")
        r.wanted[topic][key] = dict(zip(r.names, values, strict=False))


def of_header(number: int) -> str:
    return f"FROM_BYTES(h{number}, 'utf8')"


def replacement(value: str) -> str:
    """As the new text of a regular expression."""
    return value.replace("\\", "\\\\").replace("$", "\\$")


def path(member: str) -> str:
    inside = member.replace("\\", "\\\\").replace('"', '\\"')
    return f'$["{inside}"]'


def run(r: Round, session: SparkSession, *, states: bool) -> None:
    """Runs a round and compares."""
    engine = MemoryEngine(session)
    source = declared(r)
    for add in (conditions, texts, names, delimited, inserted, *((grouped,) if states else ())):
        add(r)
    for number, text in enumerate(r.statements):
        if number % 2:
            nodes = [s.node for s in parse(text)]
            text = "\n".join(f"{to_sql(n)};" for n in nodes)
            assert [s.node for s in parse(text, substitution=False)] == nodes
        engine.execute(text, EARLIEST)
    headers = tuple((v, f"{v}#".encode()) for v in r.values[:HEADERS])
    for i, row in enumerate(r.rows):
        value = json.dumps(row, ensure_ascii=i % 3 == 0).encode()
        engine.broker.append(Record(source, i.to_bytes(4, "big"), value, i, headers))
    with scratch_folder("ksqlpy-literals-") as folder:
        for number, (_, spec) in enumerate(engine.ordered_specs()):
            stored = sorted((s for t in spec.offsets for s in engine.broker.log[t]), key=lambda s: s.arrival)
            assert run_query(spec, engine, folder / str(number), stored) == []
    for topic, wanted in r.wanted.items():
        got = {int.from_bytes((s.record.key or b"")[:4], "big"): s.record.value for s in engine.broker.log[topic]}
        assert got.keys() == {k for k, v in wanted.items() if v is not None}, topic
        for key, columns in wanted.items():
            if columns is not None:
                found = json.loads(got[key] or b"null")
                assert found.keys() == columns.keys()
                wrong = {c: (found[c], w) for c, w in columns.items() if found[c] != w}
                assert wrong == {}, f"round {r.number}, row {key}, a column and what it got and should be: {wrong!r}"


def fits(made: str) -> bool:
    return made not in ("", *OWN)


def test_what_is_put_in_comes_out(
    spark: SparkSession, generated: Callable[[int], int], capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(SEED)
    rest, sent, rounds = generated(120), 0, 0
    while rest > 0:
        count = max(min(AT_ONCE, rest // 2), FEW + 10)
        r = Round(
            distinct(rng, count, fits=lambda _: True), distinct(rng, count, fits=fits, any_case=True), rng, rounds
        )
        run(r, spark, states=rounds % STATES == 0)
        rounds += 1
        sent += 2 * count
        rest -= 2 * count
    with capsys.disabled():
        print(f"\n{sent} literals and names came out as they were put in")

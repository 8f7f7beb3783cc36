"""Expressions made at random: calls of every signature of the registry and every operator, a few levels deep, as SQL.

The same seed gives the same expressions. Arguments are columns, literals that mean something somewhere (patterns,
zones, units, extremes) and other expressions of the type; what analysis refuses is as good an answer as a value.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ksqlpy.functions import FUNCTIONS, Aggregate, AggregateSignature, Scalar, Signature, TableFunction
from ksqlpy.functions.signatures import ArrayOf, Family, LambdaParameter, Parameter
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    UNIT,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_numeric,
)

__all__ = ["COLUMNS", "OPERATORS", "Generator", "Made"]

ROW = StructType((("A", INTEGER), ("B", STRING), ("C", ArrayType(DOUBLE))))

COLUMNS: dict[str, SqlType] = {
    "FLAG": BOOLEAN,
    "I": INTEGER,
    "J": INTEGER,
    "L": BIGINT,
    "D": DOUBLE,
    "N": DecimalType(4, 2),
    "N38": DecimalType(38, 0),
    "N18": DecimalType(38, 18),
    "N0": DecimalType(38, 38),
    "N1": DecimalType(1, 0),
    "S": STRING,
    "T": STRING,
    "Y": BYTES,
    "BORN": DATE,
    "CLOCK": TIME,
    "SEEN": TIMESTAMP,
    "FLAGS": ArrayType(BOOLEAN),
    "INTS": ArrayType(INTEGER),
    "LONGS": ArrayType(BIGINT),
    "DOUBLES": ArrayType(DOUBLE),
    "NUMBERS": ArrayType(DecimalType(38, 18)),
    "TEXTS": ArrayType(STRING),
    "BLOBS": ArrayType(BYTES),
    "DATES": ArrayType(DATE),
    "TIMES": ArrayType(TIMESTAMP),
    "NESTED": ArrayType(ArrayType(INTEGER)),
    "ROWS": ArrayType(ROW),
    "MAPS": ArrayType(MapType(STRING, INTEGER)),
    "COUNTS": MapType(STRING, INTEGER),
    "LABELS": MapType(STRING, STRING),
    "LISTS": MapType(STRING, ArrayType(STRING)),
    "DEEP": MapType(STRING, MapType(STRING, DOUBLE)),
    "R": ROW,
    "RR": StructType((("IN", ROW), ("M", MapType(STRING, BIGINT)), ("DAY", DATE))),
}
"""What the source of the tests has, besides its key ID."""

PATTERNS = ("yyyy-MM-dd", "HH:mm:ss.SSS", "yyyy-MM-dd''T''HH:mm:ss.SSSX", "n", "QQQQ", "{", "[[", "pppp", "G y", "")
ZONES = ("UTC", "Europe/Oslo", "+25:00", "nowhere", "", "GMT+1", "Z")
TEXTS = (
    *PATTERNS, *ZONES, "a", "abc", "😀é\u0301\U0001d4b3", "1", "-1", "1E400", "NaN", "-Infinity", "1e-2000000000",
    "9223372036854775808", "2024-05-06", "+999999999-12-31", "-999999999-01-01T00:00:00", "12:34:56", "(",
    "(a|b)*c", "(a+)+$", "%", "\\", "%\\", "$1", "$.a[0]", "$..", "{\"a\":[1,{\"b\":null}]}",
    "[1,1E1000000000,\"x\"]", "hex", "utf8", "base64", "ascii", "ABC=", "BIG_ENDIAN",
    "http://x.org:99999/a?b=%zz#c", "km", "ASC", "DESC", "\u0000", " ", "null", "\\u0041", "\\ud83d", "a=1,b=2",
    ",", "=",
)  # fmt: skip

_LITERALS: Mapping[SqlType, Sequence[str]] = {
    BOOLEAN: ("TRUE", "FALSE"),
    INTEGER: ("0", "1", "-1", "2", "7", "2147483647", "-2147483648", "100000"),
    BIGINT: ("9223372036854775807", "-9223372036854775808", "3000000000", "CAST(0 AS BIGINT)"),
    DOUBLE: ("0E0", "-0E0", "1.7976931348623157E308", "4.9E-324", "1E0", "CAST('NaN' AS DOUBLE)", "-1E19"),
    STRING: tuple("'" + x.replace("'", "''").replace("''''", "''") + "'" for x in TEXTS),
    BYTES: ("TO_BYTES('', 'utf8')", "TO_BYTES('00ff80', 'hex')", "TO_BYTES('0102030405060708', 'hex')"),
    DATE: ("FROM_DAYS(0)", "FROM_DAYS(2147483647)", "FROM_DAYS(-2147483648)", "CAST('2024-02-29' AS DATE)"),
    TIME: ("CAST('23:59:59.999' AS TIME)", "CAST('00:00' AS TIME)"),
    TIMESTAMP: (
        "FROM_UNIXTIME(9223372036854775)", "FROM_UNIXTIME(-9223372036854775)", "FROM_UNIXTIME(0)",
        "CAST('2024-05-06T07:08:09.123' AS TIMESTAMP)",
    ),
}  # fmt: skip
_SCALARS = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)
_TIMES = (DATE, TIME, TIMESTAMP)
_DECIMALS = (DecimalType(4, 2), DecimalType(38, 0), DecimalType(38, 18), DecimalType(38, 38), DecimalType(1, 0))
_POOL: tuple[SqlType, ...] = (*_SCALARS, *_DECIMALS, *(t for t in COLUMNS.values() if not is_numeric(t)))
_KEYS = ("'a'", "'b'", "S", "T")

Names = Mapping[str, SqlType]

OPERATORS = (
    "=", "<>", "<", ">", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "AND", "OR", "NOT", "IS NULL", "IN", "NOT BETWEEN",
    "LIKE", "LIKE ESCAPE", "+", "-", "*", "/", "%", "unary -", "text +", "||", "CASE", "CAST", "->", "[index]", "[key]",
    "ARRAY", "MAP", "STRUCT",
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """An expression, and the functions, operators and names that stand in it."""

    text: str
    holds: frozenset[str]

    def within(self, template: str) -> Made:
        """The same at the place of ``{}`` in another text, of which nothing counts."""
        return Made(template.format(self.text), self.holds)


@dataclass(frozen=True)
class _Form:
    """A call with the types of its arguments."""

    name: str
    signature: Signature | AggregateSignature
    parameters: tuple[Parameter, ...]
    returns: SqlType | None


class Generator:
    """Makes expressions, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._holds: set[str] = set()
        self._forms = [(f, s) for f in FUNCTIONS.functions.values() if isinstance(f, Scalar) for s in f.signatures]
        self._aggregates = [
            (f, s) for f in FUNCTIONS.functions.values() if isinstance(f, Aggregate) for s in f.signatures
        ]
        self._tables = [
            (f, s) for f in FUNCTIONS.functions.values() if isinstance(f, TableFunction) for s in f.signatures
        ]
        for forms in (self._forms, self._aggregates):
            self.random.shuffle(forms)
        self._by_type: dict[SqlType, list[_Form]] = defaultdict(list)
        for f, s in self._forms * 4:
            form = self._form(f.name, s)
            if form.returns is not None:
                self._by_type[form.returns].append(form)

    def expressions(self, names: Names = COLUMNS, about: Collection[str] | None = None) -> Iterator[Made]:
        """Without end: a call of each signature in turn, and behind each an operator in turn.

        ``names``: what an expression may take its values from, names or calls, with their types. Each holds one of
        ``about``, or else of ``names``: what is constant Spark computes but once.
        """
        wanted = frozenset(names if about is None else about)
        while True:
            for i, (f, s) in enumerate(self._forms):
                yield self._made(partial(self._call_of, f.name, s, names), wanted)
                yield self._made(partial(self._with, OPERATORS[i % len(OPERATORS)], names), wanted)

    def _call_of(self, name: str, s: Signature, names: Names) -> str:
        return self._call(self._form(name, s), names, 2)

    def _made(self, way: Callable[[], str], wanted: frozenset[str]) -> Made:
        """The first of some tries that holds what is wanted; some calls take no arguments."""
        for _ in range(50):
            self._holds = set()
            text = way()
            if self._holds & wanted:
                break
        return Made(text, frozenset(self._holds))

    def predicates(self, names: Names = COLUMNS) -> Iterator[Made]:
        """Without end: the same as conditions."""
        for made in self.expressions(names):
            yield made.within("TO_JSON_STRING({}) = ''")

    def booleans(self, depth: int) -> Iterator[Made]:
        """Conditions, at random."""
        while True:
            yield self._made(lambda: self.of(BOOLEAN, depth), frozenset(COLUMNS))

    def keys(self, kind: SqlType) -> Iterator[Made]:
        """Expressions of a type, at random."""
        while True:
            yield self._made(lambda: self.of(kind, 2), frozenset(COLUMNS))

    def for_columns(self) -> Iterator[tuple[SqlType, Made]]:
        """Expressions of a type, at random, and the type of a column that is to take them: the same, a wider or any."""
        while True:
            kind = self.random.choice(_POOL)
            yield self._wider(kind), self._made(partial(self.of, kind, 2), frozenset(COLUMNS))

    def _wider(self, kind: SqlType) -> SqlType:
        match kind:
            case ArrayType(item):
                return ArrayType(self._wider(item))
            case MapType(key, item):
                return MapType(key, self._wider(item))
            case StructType(fields):
                return StructType(tuple((n, self._wider(t)) for n, t in fields))
            case _ if is_numeric(kind) and self.random.random() < 0.7:
                return self.random.choice((INTEGER, BIGINT, DOUBLE, *_DECIMALS))
        return kind if self.random.random() < 0.9 else self.random.choice(_SCALARS)

    def aggregates(self) -> Iterator[Made]:
        """A call of each signature of the aggregates in turn."""
        while True:
            for f, s in self._aggregates:
                yield Made(self._call(self._form(f.name, s), COLUMNS, 1, s.constants), frozenset([f.name]))

    def tables(self) -> Iterator[Made]:
        """Calls of table functions."""
        while True:
            for f, s in self._tables:
                yield Made(self._call(self._form(f.name, s), COLUMNS, 1), frozenset([f.name]))

    def of(self, kind: SqlType, depth: int, names: Names = COLUMNS) -> str:
        """An expression of the type, or of one that is like it."""
        ways = [self._leaf, self._leaf]
        if depth > 0:
            ways += [self._by_function, self._by_function, self._case, self._cast, self._access, self._operator]
        return self.random.choice(ways)(kind, depth - 1, names)

    # ------------------------------------------------------------ calls

    def _form(self, name: str, s: Signature | AggregateSignature) -> _Form:
        parameters = s.parameters
        if s.repeated_at is not None:
            parameters = s.expanded(len(parameters) + self.random.randrange(3)) or parameters
        shared: dict[str, SqlType] = {}
        chosen: list[Parameter] = []
        for p in parameters:
            if isinstance(p, ArrayOf):
                chosen.append(ArrayType(self._shared(p.item, shared)))
            elif isinstance(p, Family):
                chosen.append(self._shared(p, shared) if p.same else self._accepted(p))
            else:
                chosen.append(p)
        types = [p for p in chosen if isinstance(p, SqlType)]
        for p in chosen:
            if isinstance(p, LambdaParameter):
                types.append(p.gives or (types[p.grows] if p.grows is not None else self.random.choice(_POOL)))
        try:
            returns = s.returns(types) if callable(s.returns) else s.returns
        except (AssertionError, IndexError, AttributeError):
            returns = None
        return _Form(name, s, tuple(chosen), returns)

    def _accepted(self, family: Family) -> SqlType:
        return self.random.choice([t for t in _POOL if family.accepts(t)])

    def _shared(self, family: Family, shared: dict[str, SqlType]) -> SqlType:
        if family.name not in shared:
            shared[family.name] = self._accepted(family)
        return shared[family.name]

    def _call(self, form: _Form, names: Names, depth: int, constants: int = 0) -> str:
        arguments: list[str] = []
        types = [p for p in form.parameters if isinstance(p, SqlType)]
        last = len(form.parameters) - constants
        for i, p in enumerate(form.parameters):
            if isinstance(p, LambdaParameter):
                arguments.append(self._lambda(p, types, names, depth))
                continue
            assert isinstance(p, SqlType)
            if i >= last:
                arguments.append(self.random.choice(("TRUE", "FALSE")) if p == BOOLEAN else self.random.choice("1359"))
            elif p == UNIT:
                arguments.append(self.random.choice(("MILLISECONDS", "SECONDS", "MINUTE", "HOURS", "DAYS")))
            elif form.name in ("GENERATE_SERIES", "SLICE") or self.random.random() < 0.03:
                arguments.append(self._leaf(p, 0, names) if self.random.random() < 0.9 else "NULL")
            else:
                arguments.append(self.of(p, depth - 1, names))
        self._holds.add(form.name)
        return f"{form.name}({', '.join(arguments)})"

    def _lambda(self, p: LambdaParameter, types: Sequence[SqlType], names: Names, depth: int) -> str:
        own = [f"X{len(names)}_{i}" for i in range(p.arity)]
        given = p.takes(types)
        wanted = p.gives or (types[p.grows] if p.grows is not None else self.random.choice(_POOL))
        inside = {**names, **dict(zip(own, given, strict=True))}
        # Its own parameters are what a body is about.
        fitting = [n for n in own if inside[n] == wanted]
        body = self.random.choice(fitting) if fitting and self.random.random() < 0.3 else self.of(wanted, depth, inside)
        if p.grows is not None and fitting and wanted == STRING:
            body = f"{own[0]} + {body}"
        return f"({', '.join(own)}) => {body}" if len(own) > 1 else f"{own[0]} => {body}"

    def _by_function(self, kind: SqlType, depth: int, names: Names) -> str:
        forms = self._by_type.get(kind)
        return self._call(self.random.choice(forms), names, depth) if forms else self._leaf(kind, depth, names)

    # ------------------------------------------------------------ everything else

    def _leaf(self, kind: SqlType, depth: int, names: Names) -> str:
        known = [n for n, t in names.items() if t == kind]
        if known and self.random.random() < 0.65:
            name = self.random.choice(known)
            self._holds.add(name)
            return name
        if self.random.random() < 0.1:
            return f"CAST(NULL AS {kind})"
        return self._literal(kind, names)

    def _literal(self, kind: SqlType, names: Names) -> str:
        if kind in _LITERALS:
            return self.random.choice(_LITERALS[kind])
        match kind:
            case DecimalType(precision, scale):
                whole, rest = "9" * (precision - scale), "9" * scale
                literal = f"-{whole or 0}.{rest}" if rest else f"CAST('{whole}' AS {kind})"
                return self.random.choice((literal, f"CAST(0 AS {kind})", f"CAST(I AS {kind})"))
            case ArrayType(item):
                self._holds.add("ARRAY")
                return f"ARRAY[{', '.join(self._leaf(item, 0, names) for _ in range(self.random.randint(1, 3)))}]"
            case MapType(key, item):
                self._holds.add("MAP")
                keys = [self.random.choice(_KEYS) if key == STRING else self._leaf(key, 0, names) for _ in range(2)]
                return f"MAP({', '.join(f'{k} := {self._leaf(item, 0, names)}' for k in keys)})"
            case StructType(fields):
                self._holds.add("STRUCT")
                return f"STRUCT({', '.join(f'`{n}` := {self._leaf(t, 0, names)}' for n, t in fields)})"
        return f"CAST(NULL AS {kind})"

    def _case(self, kind: SqlType, depth: int, names: Names) -> str:
        values = [self.of(kind, depth, names) for _ in range(2)]
        self._holds.add("CASE")
        otherwise = f" ELSE {values[1]}" if self.random.random() < 0.7 else ""
        return f"CASE WHEN {self.of(BOOLEAN, depth, names)} THEN {values[0]}{otherwise} END"

    def _cast(self, kind: SqlType, depth: int, names: Names) -> str:
        sources: list[SqlType] = [STRING]
        match kind:
            case ArrayType(item):
                sources = [ArrayType(self._near(item))]
            case MapType(key, item):
                sources = [MapType(key, self._near(item))]
            case _ if kind == STRING:
                sources = [t for t in _POOL if t != BYTES]
            case StructType(fields):
                sources = [StructType(tuple((n, self._near(t)) for n, t in fields))]
            case _ if is_numeric(kind):
                sources = [STRING, INTEGER, BIGINT, DOUBLE, *_DECIMALS]
            case _ if kind in (DATE, TIME):
                sources = [STRING, TIMESTAMP]
            case _ if kind == TIMESTAMP:
                sources = [STRING, DATE]
        if self.random.random() < 0.1:  # which analysis may refuse
            sources = list(_SCALARS)
        self._holds.add("CAST")
        return f"CAST({self.of(self.random.choice(sources), depth, names)} AS {kind})"

    def _near(self, kind: SqlType) -> SqlType:
        if is_numeric(kind):
            return self.random.choice((STRING, DOUBLE, INTEGER))
        return self.random.choice((STRING, kind)) if kind in _TIMES else kind

    def _access(self, kind: SqlType, depth: int, names: Names) -> str:
        ways = ["[index]", "[key]"] + ["->"] * (kind in (INTEGER, STRING))
        return self._written(self.random.choice(ways), kind, names, depth)

    def _operator(self, kind: SqlType, depth: int, names: Names) -> str:
        if kind == BOOLEAN:
            return self._written(self.random.choice(_CONDITIONS), kind, names, depth)
        if kind == STRING:
            return self._written(self.random.choice(("text +", "||")), kind, names, depth)
        if is_numeric(kind):
            return self._written(self.random.choice(("+", "-", "*", "/", "%", "unary -")), kind, names, depth)
        return self._leaf(kind, depth, names)

    def _with(self, operator: str, names: Names) -> str:
        """An expression of this operator, of a type that it gives."""
        kinds: Sequence[SqlType] = _POOL
        if operator in _CONDITIONS:
            kinds = (BOOLEAN,)
        elif operator in ("text +", "||"):
            kinds = (STRING,)
        elif operator in ("+", "-", "*", "/", "%", "unary -"):
            kinds = (INTEGER, BIGINT, DOUBLE, *_DECIMALS)
        elif operator == "->":
            kinds = (INTEGER, STRING)
        elif operator in ("ARRAY", "MAP", "STRUCT"):
            whole = {"ARRAY": ArrayType, "MAP": MapType, "STRUCT": StructType}[operator]
            return self._nested(self.random.choice([t for t in COLUMNS.values() if isinstance(t, whole)]), 2, names)
        kind = self.random.choice(kinds)
        if operator in ("CASE", "CAST"):
            return (self._case if operator == "CASE" else self._cast)(kind, 2, names)
        return self._written(operator, kind, names, 2)

    def _nested(self, kind: SqlType, depth: int, names: Names) -> str:
        """A constructor of constructors, of which some elements fail while they are computed."""
        if not isinstance(kind, ArrayType | MapType | StructType):
            return self._failing(kind, names) if self.random.random() < 0.5 else self.of(kind, depth, names)
        if self.random.random() < 0.2:
            return self._leaf(kind, 0, names)
        match kind:
            case ArrayType(item):
                self._holds.add("ARRAY")
                return f"ARRAY[{', '.join(self._nested(item, depth - 1, names) for _ in range(3))}]"
            case MapType(key, item):
                self._holds.add("MAP")
                keys = [self.random.choice(_KEYS) if key == STRING else self._leaf(key, 0, names) for _ in range(2)]
                return f"MAP({', '.join(f'{k} := {self._nested(item, depth - 1, names)}' for k in keys)})"
            case StructType(fields):
                self._holds.add("STRUCT")
                inside = (f"`{n}` := {self._nested(t, depth - 1, names)}" for n, t in fields)
                return f"STRUCT({', '.join(inside)})"

    def _failing(self, kind: SqlType, names: Names) -> str:
        """What is an error for some rows, so that its place is null: a division by 0, a text that is nothing of it."""
        if is_numeric(kind):
            whole = self._leaf(kind, 0, names)
            return self.random.choice(
                (f"CAST({self._leaf(STRING, 0, names)} AS {kind})", f"CAST({whole} / 0 AS {kind})")
            )
        if kind in (BYTES, BOOLEAN, STRING):
            return self.of(kind, 1, names)
        return f"CAST({self._leaf(STRING, 0, names)} AS {kind})"

    def _in(self, depth: int, names: Names) -> str:
        """IN with values of the type, or with texts, which are brought to it."""
        kind = self.random.choice(_POOL)
        if self.random.random() < 0.5:
            return (
                f"({self.of(kind, depth, names)}) IN ({self.of(kind, depth, names)}, ({self.of(kind, depth, names)}))"
            )
        kind = self.random.choice((*_SCALARS, *_DECIMALS))
        texts = [self._literal(STRING, names) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.3:
            texts.append(self._literal(kind, names))
        negated = self.random.choice(("", "NOT "))
        return f"({self.of(kind, depth, names)}) {negated}IN ({', '.join(texts)})"

    def _written(self, operator: str, kind: SqlType, names: Names, depth: int) -> str:
        """The operator over generated operands; the result has the type, or one that is like it."""

        def some(t: SqlType) -> str:
            return f"({self.of(t, depth, names)})"

        pick = self.random
        self._holds.add(operator)
        other = pick.choice(_POOL)
        match operator:
            case "=" | "<>" | "IS DISTINCT FROM" | "IS NOT DISTINCT FROM":
                return f"{some(other)} {operator} {some(other)}"
            case "<" | ">":
                ordered = pick.choice((INTEGER, DOUBLE, STRING, BYTES, *_DECIMALS, *_TIMES))
                second = STRING if ordered in _TIMES and pick.random() < 0.4 else ordered
                return f"{some(ordered)} {operator} {some(second)}"
            case "AND" | "OR":
                return f"{some(BOOLEAN)} {operator} {some(BOOLEAN)}"
            case "NOT":
                return f"NOT {some(BOOLEAN)}"
            case "IS NULL":
                return f"{some(other)} IS NULL"
            case "IN":
                return self._in(depth, names)
            case "NOT BETWEEN" if pick.random() < 0.5:
                at = pick.choice(_TIMES)
                bounds = [self._literal(pick.choice((at, STRING)), names) for _ in range(2)]
                return f"{some(at)} NOT BETWEEN {bounds[0]} AND {bounds[1]}"
            case "NOT BETWEEN":
                return f"{some(DOUBLE)} NOT BETWEEN {some(INTEGER)} AND {some(DecimalType(38, 18))}"
            case "LIKE":
                return f"{some(STRING)} LIKE {some(STRING)}"
            case "LIKE ESCAPE":
                return f"{some(STRING)} LIKE {some(STRING)} ESCAPE '{pick.choice('a%!_')}'"
            case "text +" | "||":
                return f"{some(STRING)} {operator[-1] if operator == 'text +' else operator} {some(STRING)}"
            case "unary -":
                made = f"-{some(kind)}"
            case "->":
                return f"{some(ROW)}->{'A' if kind == INTEGER else 'B'}"
            case "[index]":
                return f"{some(ArrayType(kind))}[{self.of(INTEGER, depth, names)}]"
            case "[key]":
                return f"{some(MapType(STRING, kind))}[{self.of(STRING, depth, names)}]"
            case _:
                second = pick.choice((kind, INTEGER, *_DECIMALS)) if isinstance(kind, DecimalType) else kind
                made = f"{some(kind)} {operator} {some(second)}"
        return f"CAST({made} AS {kind})" if isinstance(kind, DecimalType) else made


_CONDITIONS = (
    "=", "<>", "<", ">", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "AND", "OR", "NOT", "IS NULL", "IN", "NOT BETWEEN",
    "LIKE", "LIKE ESCAPE",
)  # fmt: skip

"""The nodes of the language that sqlglot does not have; one class a statement.

Longer than other files: it is the closed list of what a statement can be made of.

Nodes of sqlglot that are used as they are: Identifier, Column (``this``, ``table``; ``source.*`` is a Column of Star),
Star, Alias, Literal, Boolean, Null, Paren, Not, And, Or, EQ NEQ LT LTE GT GTE, NullSafeEQ, NullSafeNEQ, Is (with Null),
Between (``this``, ``low``, ``high``), In (``this``, ``expressions``), Like, Escape (``this`` a Like, ``expression``),
Add Sub Mul Div Mod, DPipe, Neg, Case (``this``, ``ifs``, ``default``) of If (``this``, ``true``), Cast (``this``,
``to`` a TypeName), Bracket (``this``, ``expressions`` = [index], counted as written), Array (``expressions``), Struct
(``expressions`` of PropertyEQ), Anonymous (every function call: ``this`` the name as a str, ``expressions``), Lambda
(``this`` the body, ``expressions`` the parameters), From (``this`` a Table or Subquery), Table (``this``, ``alias`` a
TableAlias), Subquery (``this`` a query, ``alias``), With (``expressions`` of CTE), CTE (``this`` a query, ``alias``),
Order, Where, Group, Having, Limit, Property (``this`` Identifier or Literal, ``value``).

Names are folded when parsed: an Identifier holds the name as the catalog knows it. ``quoted`` says only whether its
canonical text needs quotes. The offsets of a node are in its ``meta``: ``start`` and ``end``, both inclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from sqlglot import exp

from ksqlpy.sql.environment import check_sqlglot
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
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

check_sqlglot()  # before the first subclass of its classes

__all__ = [
    "BUILT_IN_TYPES",
    "OVER_FUNCTIONS",
    "UNIT_MILLIS",
    "AlterSource",
    "AlterSystem",
    "AssertSchema",
    "AssertSource",
    "AssertTombstone",
    "AssertTopic",
    "AssertValues",
    "ColumnSpec",
    "CreateConnector",
    "CreateFunction",
    "CreateRole",
    "CreateSource",
    "CreateType",
    "DecimalLiteral",
    "Define",
    "DeleteFrom",
    "DescribeConnector",
    "DescribeFunction",
    "DescribeSource",
    "DescribeStreams",
    "DropConnector",
    "DropFunction",
    "DropRole",
    "DropSource",
    "DropType",
    "Duration",
    "Explain",
    "FieldAccess",
    "Grant",
    "GrantedOn",
    "InsertSelect",
    "InsertValues",
    "IntervalUnit",
    "LambdaVariable",
    "MapOf",
    "OrderItem",
    "OverCall",
    "PartitionBy",
    "Pause",
    "Print",
    "Query",
    "Resume",
    "Revoke",
    "Rewind",
    "RunScript",
    "SetProperty",
    "Show",
    "Skip",
    "SourceText",
    "StreamJoin",
    "StructStar",
    "Terminate",
    "TimeWindow",
    "TypeName",
    "Undefine",
    "UnionAll",
    "UnsetProperty",
]

UNIT_MILLIS: Mapping[str, int] = MappingProxyType(
    {"MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
)
"""Milliseconds of the time units; each may be written with or without a final S."""

BUILT_IN_TYPES: Mapping[str, SqlType] = MappingProxyType(
    {
        "BOOLEAN": BOOLEAN,
        "INT": INTEGER,
        "INTEGER": INTEGER,
        "BIGINT": BIGINT,
        "DOUBLE": DOUBLE,
        "STRING": STRING,
        "VARCHAR": STRING,
        "BYTES": BYTES,
        "DATE": DATE,
        "TIME": TIME,
        "TIMESTAMP": TIMESTAMP,
    }
)
"""The types without parameters, with their synonyms."""


class Statement(exp.Expression):
    """Base of all statements but the query."""


# ---------------------------------------------------------------- types


class TypeName(exp.Expression):
    """A type as written.

    ``this``: str, the canonical name (INTEGER, STRING, …), ``DECIMAL``, ``ARRAY``, ``MAP``, ``STRUCT``, or the folded
    name of a user type. ``expressions``: DECIMAL two Literals, ARRAY and MAP TypeNames, STRUCT ColumnSpecs.
    ``user``: True for a user type.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "user": False}

    @property
    def sql_type(self) -> SqlType | None:
        """The type, or None where a user type is part of it."""
        return self.resolve({})

    def resolve(self, user_types: Mapping[str, SqlType]) -> SqlType | None:
        """The type with the names of user types looked up in ``user_types``; None if one is not there."""
        name: str = self.this
        if self.args.get("user"):
            return user_types.get(name)
        if name == "DECIMAL":
            precision, scale = self.expressions
            return DecimalType(int(precision.this), int(scale.this))
        if name == "STRUCT":
            fields = [(f.this.this, f.args["type"].resolve(user_types)) for f in self.expressions]
            return None if any(t is None for _, t in fields) else StructType(tuple(fields))
        parts = [part.resolve(user_types) for part in self.expressions]
        if any(part is None for part in parts):
            return None
        if name == "ARRAY":
            return ArrayType(parts[0])
        if name == "MAP":
            return MapType(parts[0], parts[1])
        return BUILT_IN_TYPES[name]


# ---------------------------------------------------------------- expressions


class FieldAccess(exp.Expression):
    """``s->f``. ``this``: the struct; ``expression``: Identifier of the field."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class StructStar(exp.Expression):
    """``s->*`` in a select list. ``this``: the struct."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class MapOf(exp.Expression):
    """``MAP(k := v, …)``. ``expressions``: PropertyEQ nodes with ``this`` = key and ``expression`` = value."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": False}


class DecimalLiteral(exp.Expression):
    """``DECIMAL '1.20'``. ``this``: string Literal with the digits."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class IntervalUnit(exp.Expression):
    """A time unit as argument of a function, as in ``DATEADD(DAYS, 1, d)``. ``this``: str, the word in upper case."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class LambdaVariable(exp.Expression):
    """A parameter of an enclosing lambda, used in its body. ``this``: Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


OVER_FUNCTIONS = frozenset(["LAG", "LEAD", "ROW_NUMBER"])
"""The functions that take OVER; their names are plain names everywhere else."""


class OverCall(exp.Expression):
    """``LAG(a) OVER (PARTITION BY b)``.

    ``this``: Anonymous; ``partition``: PartitionBy, or absent; ``order``: Order of OrderItems, or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition": False, "order": False}


# ---------------------------------------------------------------- query


class Duration(exp.Expression):
    """``10 SECONDS``. ``this``: integer Literal; ``unit``: str in upper case, as written (with or without S)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": True}

    @property
    def millis(self) -> int:
        """The length in milliseconds."""
        unit: str = self.args["unit"]
        return int(self.this.this) * UNIT_MILLIS[unit.removesuffix("S")]


class TimeWindow(exp.Expression):
    """A WINDOW clause.

    ``kind``: TUMBLING, HOPPING or SESSION; ``size`` (of SESSION the gap that ends it), ``advance`` (HOPPING only),
    ``retention``, ``grace``: Durations.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "size": True,
        "advance": False,
        "retention": False,
        "grace": False,
    }


class StreamJoin(exp.Join):
    """One join.

    ``this``: Table or Subquery; ``side``: '' (inner), 'LEFT', 'RIGHT' or 'FULL'; ``within``: one Duration for both
    directions, or two, before and after; ``grace``: Duration, only with ``within``; ``on``: the condition.
    """

    arg_types: ClassVar[dict[str, bool]] = {**exp.Join.arg_types, "within": False, "grace": False}


class PartitionBy(exp.Expression):
    """A PARTITION BY clause. ``expressions``: what it lists."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class OrderItem(exp.Expression):
    """An item of ORDER BY. ``this``: the value; ``desc``: bool; ``nulls``: 'FIRST', 'LAST' or None."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "desc": False, "nulls": False}


class Query(exp.Select):
    """A SELECT.

    ``with_``: With of CTEs; ``expressions``: items; ``from_``: From of a Table or Subquery; ``joins``: StreamJoins;
    ``window``: TimeWindow; ``where``: Where; ``group``: Group with ``expressions``; ``partition``: PartitionBy;
    ``having``: Having; ``order``: Order of OrderItems; ``emit``: 'CHANGES', 'FINAL' or absent; ``limit``: Limit with
    ``expression`` an integer Literal.
    """

    arg_types: ClassVar[dict[str, bool]] = {**exp.Select.arg_types, "window": False, "partition": False, "emit": False}


class UnionAll(exp.Expression):
    """SELECT … UNION ALL SELECT ….

    ``expressions``: two or more Queries, which have no ``with_``, ``order``, ``emit`` and ``limit`` of their own;
    ``with_``, ``order``, ``emit``, ``limit``: of the whole, as in Query.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "with_": False,
        "expressions": True,
        "order": False,
        "emit": False,
        "limit": False,
    }


# ---------------------------------------------------------------- statements


class ColumnSpec(exp.Expression):
    """A declared column, or a field of a STRUCT type.

    ``this``: Identifier; ``type``: TypeName; ``constraint``: None, 'KEY', 'PRIMARY KEY', 'HEADERS' or 'HEADER', the
    last with ``header``, a string Literal: the key of the header.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "type": True, "constraint": False, "header": False}


class CreateSource(Statement):
    """CREATE STREAM or TABLE, with columns or AS a query.

    ``this``: Identifier; ``kind``: 'STREAM' or 'TABLE'; ``columns``: ColumnSpecs, absent if not written;
    ``properties``: Property nodes, absent without WITH; ``query``: Query or UnionAll of the AS form; ``exists``: IF NOT
    EXISTS; ``replace``: OR REPLACE; ``source``: CREATE SOURCE, which nobody may write into.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "columns": False,
        "properties": False,
        "query": False,
        "exists": False,
        "replace": False,
        "source": False,
    }


class AlterSource(Statement):
    """ALTER … ADD. ``this``: Identifier; ``kind``: 'STREAM' or 'TABLE'; ``columns``: ColumnSpecs to append."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "columns": True}


class InsertSelect(Statement):
    """INSERT INTO … SELECT. ``this``: Identifier; ``properties``: as in CreateSource; ``query``: Query or UnionAll."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "properties": False, "query": True}


class InsertValues(Statement):
    """INSERT INTO … VALUES. ``this``: Identifier; ``columns``: Identifiers or absent; ``expressions``: the values."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "expressions": True}


class DeleteFrom(Statement):
    """DELETE FROM a table. ``this``: Identifier; ``where``: Where."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "where": True}


class DropSource(Statement):
    """DROP.

    ``this``: Identifier; ``kind``: 'STREAM' or 'TABLE'; ``exists``: IF EXISTS; ``delete_topic``: bool; ``cascade``:
    bool, with all that reads it.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "exists": False,
        "delete_topic": False,
        "cascade": False,
    }


class CreateType(Statement):
    """CREATE TYPE. ``this``: Identifier; ``type``: TypeName; ``exists``: IF NOT EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "type": True, "exists": False}


class DropType(Statement):
    """DROP TYPE. ``this``: Identifier; ``exists``: IF EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class SourceText(exp.Expression):
    """``$$ … $$``. ``this``: str, what stands between them."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class CreateFunction(Statement):
    """CREATE FUNCTION.

    ``this``: Identifier; ``kind``: 'SCALAR', 'AGGREGATE' or 'TABLE'; ``parameters``: ColumnSpecs; ``returns``, of an
    aggregate also ``state``: TypeNames; ``determinism``: 'DETERMINISTIC', 'NOT DETERMINISTIC' or absent;
    ``properties``: Property nodes or absent; ``body``: SourceText, or string Literal of 'module:callable'; ``exists``:
    IF NOT EXISTS; ``replace``: OR REPLACE.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "kind", "returns", "body"), True),
        **dict.fromkeys(("parameters", "state", "determinism", "properties", "exists", "replace"), False),
    }


class DropFunction(Statement):
    """DROP FUNCTION. ``this``: Identifier; ``exists``: IF EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class CreateConnector(Statement):
    """CREATE CONNECTOR. ``this``: Identifier; ``kind``: 'SOURCE' or 'SINK'; ``properties``; ``exists``: bool."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "properties": True, "exists": False}


class DropConnector(Statement):
    """DROP CONNECTOR. ``this``: Identifier; ``exists``: IF EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class AssertTopic(Statement):
    """ASSERT TOPIC.

    ``this``: string Literal or Identifier; ``absent``: NOT EXISTS; ``properties``: Property nodes or absent;
    ``timeout``: Duration or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "absent": False, "properties": False, "timeout": False}


class AssertSchema(Statement):
    """ASSERT SCHEMA.

    ``subject``: string Literal or Identifier; ``id``: integer Literal; at least one of them; ``absent``: NOT EXISTS;
    ``timeout``: Duration or absent.
    """

    arg_types: ClassVar[dict[str, bool]] = {"subject": False, "id": False, "absent": False, "timeout": False}


class AssertValues(Statement):
    """ASSERT VALUES, of SQL tests. ``this``: Identifier; ``columns``: Identifiers, absent; ``expressions``: values."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "expressions": True}


class AssertTombstone(Statement):
    """ASSERT NULL VALUES, of SQL tests; the args of AssertValues, for the columns of the key."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "columns": False, "expressions": True}


class AssertSource(Statement):
    """ASSERT STREAM or TABLE, of SQL tests; the args of CreateSource."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "columns": False, "properties": False}


class Show(Statement):
    """SHOW or LIST.

    ``kind``: STREAMS, TABLES, QUERIES, TOPICS, PROPERTIES, FUNCTIONS, TYPES, VARIABLES, ROLES, GRANTS, CONNECTORS,
    SOURCE CONNECTORS, SINK CONNECTORS or CONNECTOR PLUGINS; ``extended``: bool; ``all``: SHOW ALL TOPICS; ``role``:
    Identifier of SHOW GRANTS FOR.
    """

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "extended": False, "all": False, "role": False}


class CreateRole(Statement):
    """CREATE ROLE. ``this``: Identifier; ``exists``: IF NOT EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class DropRole(Statement):
    """DROP ROLE. ``this``: Identifier; ``exists``: IF EXISTS."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exists": False}


class GrantedOn(exp.Expression):
    """What GRANT and REVOKE name.

    ``kind``: SOURCE or TOPIC; ``this``: Identifier or, of a topic, string Literal, absent for all of the kind;
    ``like``: string Literal, the pattern of their names.
    """

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": False, "like": False}


class Grant(Statement):
    """GRANT. ``rights``: their words with ", " between them, or ALL; ``this``: GrantedOn; ``role``: Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"rights": True, "this": True, "role": True}


class Revoke(Statement):
    """REVOKE; the args of Grant."""

    arg_types: ClassVar[dict[str, bool]] = {"rights": True, "this": True, "role": True}


class Print(Statement):
    """PRINT a topic.

    ``this``: string Literal or Identifier; ``beginning``: bool; ``interval``: integer Literal, every so many records;
    ``limit``: Limit.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "beginning": False, "interval": False, "limit": False}


class DescribeSource(Statement):
    """DESCRIBE a stream or table. ``this``: Identifier; ``extended``: bool."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "extended": False}


class DescribeStreams(Statement):
    """DESCRIBE STREAMS. ``extended``: bool."""

    arg_types: ClassVar[dict[str, bool]] = {"extended": False}


class DescribeConnector(Statement):
    """DESCRIBE CONNECTOR. ``this``: Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class DescribeFunction(Statement):
    """DESCRIBE FUNCTION. ``this``: Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Explain(Statement):
    """EXPLAIN.

    Either ``this``: Identifier of a query id, or ``statement``: Query, UnionAll, InsertSelect or CreateSource with a
    query.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "statement": False}


class Terminate(Statement):
    """TERMINATE. ``this``: Identifier of a query id, absent with ``all``: True."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "all": False}


class Pause(Statement):
    """PAUSE. ``this``: Identifier of a query id, absent with ``all``: True."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "all": False}


class Skip(Statement):
    """SKIP. ``record``: Literal with its place; ``this``: Identifier of a query id, absent with ``all``: True."""

    arg_types: ClassVar[dict[str, bool]] = {"record": True, "this": False, "all": False}


class Rewind(Statement):
    """REWIND. ``this``: Identifier of a query id; ``time``: string Literal, absent with BEGINNING."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "time": False}


class Resume(Statement):
    """RESUME. ``this``: Identifier of a query id, absent with ``all``: True."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "all": False}


class SetProperty(Statement):
    """SET 'k'='v'. ``this``: string Literal, the key; ``expression``: string Literal, the value."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class UnsetProperty(Statement):
    """UNSET 'k'. ``this``: string Literal, the key."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class AlterSystem(Statement):
    """ALTER SYSTEM 'k'='v'. ``this``: string Literal, the key; ``expression``: string Literal, the value."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class Define(Statement):
    """DEFINE v='x'. ``this``: Identifier; ``expression``: string Literal."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class Undefine(Statement):
    """UNDEFINE v. ``this``: Identifier."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class RunScript(Statement):
    """RUN SCRIPT 'file'. ``this``: string Literal."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}

"""What a function is, and how a call finds its signature.

A function is data: its signatures, its help and the Spark SQL text that computes it. Everything that speaks of
functions reads this registry: analysis, the Spark compiler, SHOW FUNCTIONS and DESCRIBE FUNCTION.

Rules (ksqlDB, type coercion of function arguments): an exact overload wins, then one reached by widening with the
fewest steps; two equally near ones are ambiguous; an untyped NULL fits everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ksqlpy.errors import AnalysisProblem, Span, similar_names
from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType, common_type, widens_to

__all__ = [
    "ANY",
    "ANY_ARRAY",
    "ANY_DECIMAL",
    "ANY_MAP",
    "ANY_STRUCT",
    "Aggregate",
    "AggregateSignature",
    "Call",
    "Change",
    "Family",
    "Registry",
    "Scalar",
    "Signature",
    "TableFunction",
    "same",
]

ArgTypes = Sequence[SqlType]
SparkText = Callable[[Sequence[str], ArgTypes], str]
"""From the Spark SQL texts of the arguments and their types to the text of the call."""


@dataclass(frozen=True)
class Family:
    """A parameter that takes every type of a kind. ``same`` parameters of one signature must agree on one type."""

    name: str
    accepts: Callable[[SqlType], bool] = field(compare=False)
    same: bool = False

    def __str__(self) -> str:
        return self.name


ANY = Family("ANY", lambda t: True)
ANY_DECIMAL = Family("DECIMAL", lambda t: isinstance(t, DecimalType))
ANY_ARRAY = Family("ARRAY", lambda t: isinstance(t, ArrayType))
ANY_MAP = Family("MAP", lambda t: isinstance(t, MapType))
ANY_STRUCT = Family("STRUCT", lambda t: isinstance(t, StructType))


def same(name: str = "T", accepts: Callable[[SqlType], bool] = lambda t: True) -> Family:
    """A type variable: every parameter with this family gets the common type of its arguments."""
    return Family(name, accepts, same=True)


Parameter = SqlType | Family


@dataclass(frozen=True)
class _Overload:
    """One overload.

    ``variadic``: the last parameter may be repeated (one or more times). ``returns``: a type, or a function of the
    argument types after coercion.
    """

    parameters: tuple[Parameter, ...]
    returns: SqlType | Callable[[ArgTypes], SqlType]

    def __str__(self) -> str:
        names = [str(p) for p in self.parameters]
        if self.repeated is not None:
            names[self.repeated] += "…"
        return f"({', '.join(names)})"

    @property
    def repeated(self) -> int | None:
        """The index of the parameter that may be repeated, or None."""
        return None

    def expanded(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameters for ``count`` arguments, or None if that number does not fit."""
        at, more = self.repeated, count - len(self.parameters)
        if at is not None and more >= 0:
            return self.parameters[:at] + self.parameters[at : at + 1] * (more + 1) + self.parameters[at + 1 :]
        return self.parameters if more == 0 else None


@dataclass(frozen=True)
class Signature(_Overload):
    """An overload of a scalar function; ``spark`` is the computation as Spark SQL text."""

    spark: SparkText
    variadic: bool = False

    @property
    def repeated(self) -> int | None:
        return len(self.parameters) - 1 if self.variadic else None


@dataclass(frozen=True)
class Scalar:
    """A function of one row. ``help`` is one line, ``example`` a call as a user writes it."""

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[Signature, ...]

    kind = "SCALAR"


@dataclass(frozen=True)
class TableFunction:
    """A function that makes several rows of one: the Spark text gives the array of their values."""

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[Signature, ...]

    kind = "TABLE"


@dataclass(frozen=True)
class Change:
    """What one row does to a group, as Spark texts.

    ``new``: the arguments of the row that comes in, NULL if none does; ``comes``: the condition that one does. Of a
    table also ``old`` and ``goes``, for the row that goes out before; of a stream ``goes`` is None. Constant arguments
    are their own text. ``limit``: how many values may be kept, None for all.
    """

    new: Sequence[str]
    comes: str
    old: Sequence[str] = ()
    goes: str | None = None
    limit: int | None = None


@dataclass(frozen=True)
class AggregateSignature(_Overload):
    """An overload of an aggregate.

    ``state``: from a change and the argument types to named Spark aggregate expressions, the whole state of a group.
    ``result``: from the state's column texts to the Spark text of the result. ``undo``: whether values can go out of
    the group again, as the rows of a table do. ``constants``: how many of the last arguments must be literals.
    ``variadic``: the last parameter before them may be repeated. ``limit``: the property that says how many values are
    kept at most.
    """

    state: Callable[[Change, ArgTypes], Mapping[str, str]]
    result: Callable[[Mapping[str, str], ArgTypes], str]
    undo: bool = False
    constants: int = 0
    variadic: bool = False
    limit: str | None = None

    @property
    def repeated(self) -> int | None:
        return len(self.parameters) - 1 - self.constants if self.variadic else None


@dataclass(frozen=True)
class Aggregate:
    """A function of the rows of a group."""

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[AggregateSignature, ...]

    kind = "AGGREGATE"


Function = Scalar | Aggregate | TableFunction


@dataclass(frozen=True)
class Call:
    """A resolved call: the chosen overload, the types its arguments are brought to, and the type of the result."""

    function: Function
    signature: Signature | AggregateSignature
    arguments: tuple[SqlType, ...]
    returns: SqlType


class Registry:
    """All functions by name; names are case-insensitive."""

    def __init__(self, functions: Iterable[Function]) -> None:
        by_name: dict[str, Function] = {}
        for f in functions:
            if f.name in by_name:
                raise ValueError(f"function {f.name} is defined twice")
            by_name[f.name] = f
        self.functions: Mapping[str, Function] = MappingProxyType(dict(sorted(by_name.items())))

    def find(self, name: str) -> Function | None:
        """The function, or None."""
        return self.functions.get(name.upper())

    def get(self, name: str, span: Span | None = None, sql: str | None = None) -> Function:
        """The function; raises AnalysisProblem ``unknown-function`` with similar names."""
        found = self.find(name)
        if found is None:
            raise AnalysisProblem(
                "unknown-function",
                f"there is no function {name.upper()}",
                span=span,
                sql=sql,
                similar=similar_names(name, self.functions),
                hint="SHOW FUNCTIONS lists them all",
            )
        return found

    def resolve(
        self, name: str, types: Sequence[SqlType | None], span: Span | None = None, sql: str | None = None
    ) -> Call:
        """The overload for arguments of these types (None: an untyped NULL).

        Raises AnalysisProblem ``unknown-function``, ``no-overload`` or ``ambiguous-call``.
        """
        function = self.get(name, span, sql)
        best: list[tuple[int, Call]] = []
        for signature in function.signatures:
            fit = _fit(signature, types)
            if fit is None:
                continue
            steps, arguments = fit
            returns = signature.returns(arguments) if callable(signature.returns) else signature.returns
            best.append((steps, Call(function, signature, arguments, returns)))
        if not best:
            shown = ", ".join("NULL" if t is None else str(t) for t in types)
            raise AnalysisProblem(
                "no-overload",
                f"{function.name} does not take ({shown})",
                span=span,
                sql=sql,
                hint=f"it takes {' or '.join(f'{function.name}{s}' for s in function.signatures)}",
            )
        best.sort(key=lambda b: b[0])
        if len(best) > 1 and best[0][0] == best[1][0] and best[0][1].arguments != best[1][1].arguments:
            if None in types:  # an untyped NULL fits all; the first declared overload is as good as any
                return best[0][1]
            raise AnalysisProblem(
                "ambiguous-call",
                f"several forms of {function.name} fit these arguments equally well",
                span=span,
                sql=sql,
                hint="CAST the arguments to say which one is meant",
            )
        return best[0][1]


def _fit(
    signature: Signature | AggregateSignature, types: Sequence[SqlType | None]
) -> tuple[int, tuple[SqlType, ...]] | None:
    parameters = signature.expanded(len(types))
    if parameters is None:
        return None
    shared: dict[str, SqlType] = {}
    for family in {p for p in parameters if isinstance(p, Family) and p.same}:
        known = [t for p, t in zip(parameters, types, strict=True) if p == family and t is not None]
        common = common_type(known)
        if common is None or not family.accepts(common):
            return None
        shared[family.name] = common
    steps, arguments = 0, []
    for parameter, t in zip(parameters, types, strict=True):
        if isinstance(parameter, Family):
            if parameter.same:
                target = shared[parameter.name]
                steps += t is not None and t != target
            elif t is None or not parameter.accepts(t):
                return None
            else:
                target = t
        else:
            target = parameter
            if t is not None and t != target:
                if not widens_to(t, target):
                    return None
                steps += _WIDENING_STEPS.get((t.base, target.base), 1)
        arguments.append(target)
    return steps, tuple(arguments)


_WIDENING_STEPS = {
    ("INTEGER", "BIGINT"): 1,
    ("INTEGER", "DECIMAL"): 2,
    ("INTEGER", "DOUBLE"): 3,
    ("BIGINT", "DECIMAL"): 1,
    ("BIGINT", "DOUBLE"): 2,
    ("DECIMAL", "DOUBLE"): 1,
}

"""What a function is, and how a call finds its signature.

A function is data: its signatures, its help and the Spark SQL text that computes it. Everything that speaks of
functions reads this list: analysis, the Spark compiler, SHOW FUNCTIONS and DESCRIBE FUNCTION.

Rules (ksqlDB, type coercion of function arguments): an exact overload wins, then one reached by widening with the
fewest steps; two equally near ones are ambiguous; an untyped NULL fits everything. A lambda fits by its number of
parameters; their types follow from the arguments before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ksqlpy.errors import AnalysisProblem, Span, similar_names
from ksqlpy.types import ArrayType, DecimalType, MapType, SqlType, StructType, common_type, widens_to
from ksqlpy.udfs.definition import Definition

__all__ = [
    "ANY",
    "ANY_ARRAY",
    "ANY_DECIMAL",
    "ANY_MAP",
    "ANY_STRUCT",
    "EVERY",
    "Aggregate",
    "AggregateSignature",
    "ArrayOf",
    "Call",
    "Change",
    "Family",
    "Function",
    "Functions",
    "LambdaArgument",
    "LambdaParameter",
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


@dataclass(frozen=True)
class ArrayOf:
    """A parameter that takes an array whose items are of a type variable, as in ``(ARRAY<T>, T)``."""

    item: Family

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True)
class LambdaParameter:
    """A parameter that takes a lambda: ``(S, T) => S``.

    ``shows``: how it prints. ``takes``: from the types of the arguments before it to those of the lambda's parameters.
    ``gives``: the type of its body, None where every type will do. ``grows``: the argument whose type becomes that of
    the body where the body is wider: a state is as wide as what it turns into. ``entry``: the last two of its
    parameters come as the ``key`` and the ``value`` of one struct, which is what Spark has in a list of entries.
    ``accepts``: whether the body may have a type.
    """

    shows: str
    takes: Callable[[ArgTypes], tuple[SqlType, ...]]
    gives: SqlType | None = None
    grows: int | None = None
    entry: bool = False
    accepts: Callable[[SqlType], bool] = lambda t: True

    @property
    def arity(self) -> int:
        """How many parameters the lambda has."""
        return self.shows.partition("=>")[0].count(",") + 1

    def __str__(self) -> str:
        return self.shows


@dataclass(frozen=True)
class LambdaArgument:
    """A lambda that stands as an argument; ``body`` gives the type of its body for types of its parameters.

    ``body`` gets the LambdaParameter, too; it gives None for an untyped NULL, and raises AnalysisProblem.
    """

    arity: int
    body: Callable[[LambdaParameter, tuple[SqlType, ...]], SqlType | None]


Parameter = SqlType | Family | ArrayOf | LambdaParameter
Argument = SqlType | LambdaArgument | None

EVERY = frozenset(range(1000))
"""As ``nulls``: every argument may be null."""


@dataclass(frozen=True)
class _Overload:
    """One overload. ``returns``: a type, or a function of the argument types after coercion."""

    parameters: tuple[Parameter, ...]
    returns: SqlType | Callable[[ArgTypes], SqlType]

    def __str__(self) -> str:
        names = [str(p) for p in self.parameters]
        at = self.repeated_at
        if at is not None:
            names[at] += "…"
        return f"({', '.join(names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """What the parameters are called, so far as they have names."""
        return ()

    @property
    def repeated_at(self) -> int | None:
        """Which parameter, from 0, may be repeated (one or more times), if one may."""
        return None

    @property
    def is_variadic(self) -> bool:
        """Whether a parameter may be repeated."""
        return self.repeated_at is not None

    def expanded(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameters for ``count`` arguments, or None if that number does not fit."""
        at, more = self.repeated_at, count - len(self.parameters)
        if at is not None and more >= 0:
            return self.parameters[:at] + self.parameters[at : at + 1] * more + self.parameters[at:]
        return self.parameters if more == 0 else None


@dataclass(frozen=True)
class Signature(_Overload):
    """An overload of a scalar function.

    ``spark``: the computation as Spark SQL text. ``variadic``: the parameter ``repeated`` (the last one, if nothing
    else is said) may be repeated. ``nulls``: the parameters, from 0, that may be null without making the result null.
    ``names``: what the parameters are called. ``fails``: it is null without a null argument only where ksqlDB has an
    error.
    """

    spark: SparkText
    variadic: bool = False
    repeated: int = -1
    nulls: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()
    fails: bool = False

    @property
    def repeated_at(self) -> int | None:
        return self.repeated % len(self.parameters) if self.variadic else None

    def needs(self, count: int) -> tuple[int, ...]:
        """Of ``count`` arguments those that make the result null when they are null."""
        at = self.repeated_at
        origin = range(count)
        if at is not None:
            more = count - len(self.parameters)
            origin = [i if i <= at else max(at, i - more) for i in range(count)]  # type: ignore[assignment]
        return tuple(i for i, o in enumerate(origin) if o not in self.nulls)


@dataclass(frozen=True)
class Scalar:
    """A function of one row. ``help`` is one line, ``example`` a call as a user writes it.

    ``definition``: of a function in Python, as of the other kinds.
    """

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[Signature, ...]
    definition: Definition | None = None

    kind = "SCALAR"


@dataclass(frozen=True)
class TableFunction:
    """A function that makes several rows of one: the Spark text gives the array of their values."""

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[Signature, ...]
    definition: Definition | None = None

    kind = "TABLE"


@dataclass(frozen=True)
class Change:
    """What one row does to a group, as Spark texts.

    ``new``: the arguments of the row that comes in, NULL if none does; ``comes``: the condition that one does. Of a
    table also ``old`` and ``goes``, for the row that goes out before; of a stream ``goes`` is None. Constant arguments
    are their own text. ``limit``: how many values may be kept, None for all. ``by_bits``: whether DOUBLEs are compared
    by their bits, as Java's ``Double.equals`` and ``compareTo`` do: -0.0 is less than 0.0, and all NaN are one.
    ``sessions``: a row changes the state of its session; elsewhere a state is made of it, and merged into its group's.
    """

    new: Sequence[str]
    comes: str
    old: Sequence[str] = ()
    goes: str | None = None
    limit: int | None = None
    by_bits: bool = False
    sessions: bool = False


@dataclass(frozen=True)
class AggregateSignature(_Overload):
    """An overload of an aggregate.

    ``state``: from a change and the argument types to named Spark aggregate expressions, the whole state of a group.
    ``result``: from the state's column texts to the Spark text of the result. ``undo``: whether values can go out of
    the group again, as the rows of a table do. ``constants``: how many of the last arguments must be literals.
    ``variadic``: the last parameter before them may be repeated. ``limit``: the property that says how many values are
    kept at most. ``compares``: whether it compares values with each other, which ``Change.by_bits`` concerns.
    ``merges``: whether two states can become one, as those of sessions do.
    """

    state: Callable[[Change, ArgTypes], Mapping[str, str]]
    result: Callable[[Mapping[str, str], ArgTypes], str]
    undo: bool = False
    constants: int = 0
    variadic: bool = False
    limit: str | None = None
    compares: bool = False
    merges: bool = True

    @property
    def repeated_at(self) -> int | None:
        return len(self.parameters) - 1 - self.constants if self.variadic else None


@dataclass(frozen=True)
class Aggregate:
    """A function of the rows of a group."""

    name: str
    category: str
    help: str
    example: str
    signatures: tuple[AggregateSignature, ...]
    definition: Definition | None = None

    kind = "AGGREGATE"


Function = Scalar | Aggregate | TableFunction


@dataclass(frozen=True)
class Call:
    """A resolved call: the chosen overload, the types its arguments are brought to, and the type of the result."""

    function: Function
    signature: Signature | AggregateSignature
    arguments: tuple[SqlType, ...]
    returns: SqlType


class Functions:
    """All functions by name; names are case-insensitive."""

    def __init__(self, functions: Iterable[Function]) -> None:
        self.functions: Mapping[str, Function] = {}
        self.add(*functions)

    def add(self, *functions: Function) -> None:
        """Makes functions known; from then on statements may call them. Raises ValueError for a name that is taken."""
        by_name = dict(self.functions)
        for f in functions:
            if f.name in by_name:
                raise ValueError(f"function {f.name} is defined twice")
            by_name[f.name] = f
        self.functions = MappingProxyType(dict(sorted(by_name.items())))

    def beside(self, functions: Iterable[Function]) -> Functions:
        """These and others. One of the others is found first: a later version may know a function of its name."""
        others = tuple(functions)
        return Functions((*(f for n, f in self.functions.items() if all(n != o.name for o in others)), *others))

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

    def resolve(self, name: str, types: Sequence[Argument], span: Span | None = None, sql: str | None = None) -> Call:
        """The overload for arguments of these types (None: an untyped NULL).

        The type of a lambda's argument in the Call is that of its body.

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
            shown = ", ".join(map(_shown, types))
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


def _shown(argument: Argument) -> str:
    if isinstance(argument, LambdaArgument):
        return f"lambda of {argument.arity}"
    return "NULL" if argument is None else str(argument)


def _fit(
    signature: Signature | AggregateSignature, types: Sequence[Argument]
) -> tuple[int, tuple[SqlType, ...]] | None:
    parameters = signature.expanded(len(types))
    if parameters is None:
        return None
    values: list[tuple[Parameter, SqlType | None]] = []
    lambdas: list[tuple[LambdaParameter, LambdaArgument]] = []
    for parameter, argument in zip(parameters, types, strict=True):
        if isinstance(parameter, LambdaParameter) and isinstance(argument, LambdaArgument):
            if parameter.arity != argument.arity:
                return None
            lambdas.append((parameter, argument))
        elif isinstance(parameter, LambdaParameter) or isinstance(argument, LambdaArgument):
            return None
        else:
            values.append((parameter, argument))
    shared = _variables(values)
    if shared is None:
        return None
    steps, arguments = 0, []
    for parameter, t in values:
        if isinstance(parameter, ArrayOf):
            target: SqlType = ArrayType(shared[parameter.item.name])
            steps += t is not None and t != target
        elif isinstance(parameter, Family):
            if parameter.same:
                target = shared[parameter.name]
                steps += t is not None and t != target
            elif t is None or not parameter.accepts(t):
                return None
            else:
                target = t
        else:
            assert not isinstance(parameter, LambdaParameter)
            target = parameter
            if t is not None and t != target:
                if not widens_to(t, target):
                    return None
                steps += _WIDENING_STEPS.get((t.base, target.base), 1)
        arguments.append(target)
    # Lambdas come last. Only here is a body looked at: by now this is the one overload that fits.
    for wanted, given in lambdas:
        body = _body(wanted, given, arguments)
        if body is None:
            return None
        arguments.append(body)
    return steps, tuple(arguments)


def _variables(values: Sequence[tuple[Parameter, SqlType | None]]) -> dict[str, SqlType] | None:
    """The types of the type variables by name, or None where the arguments do not agree."""
    known: dict[Family, list[SqlType]] = {}
    for parameter, t in values:
        if isinstance(parameter, ArrayOf):
            if t is not None and not isinstance(t, ArrayType):
                return None
            known.setdefault(parameter.item, []).extend([] if t is None else [t.item])
        elif isinstance(parameter, Family) and parameter.same:
            known.setdefault(parameter, []).extend([] if t is None else [t])
    shared: dict[str, SqlType] = {}
    for family, types in known.items():
        common = common_type(types)
        if common is None or not family.accepts(common):
            return None
        shared[family.name] = common
    return shared


def _body(wanted: LambdaParameter, given: LambdaArgument, arguments: list[SqlType]) -> SqlType | None:
    """The type of the lambda's body, None if it is not what is wanted. May widen the argument that grows."""
    body = given.body(wanted, wanted.takes(arguments))
    if body is not None and not wanted.accepts(body):
        return None
    if wanted.grows is None:
        if wanted.gives is None or body is None:
            return body or wanted.gives
        return wanted.gives if widens_to(body, wanted.gives) else None
    for _ in range(4):  # INTEGER, BIGINT, DECIMAL, DOUBLE
        state = arguments[wanted.grows]
        # A sum of DECIMALs is one digit wider than its parts; the state keeps its type.
        if body is None or widens_to(body, state) or (body.base == state.base == "DECIMAL"):
            return state
        if not widens_to(state, body):
            return None
        arguments[wanted.grows] = body
        body = given.body(wanted, wanted.takes(arguments))
    return None


_WIDENING_STEPS = {
    ("INTEGER", "BIGINT"): 1,
    ("INTEGER", "DECIMAL"): 2,
    ("INTEGER", "DOUBLE"): 3,
    ("BIGINT", "DECIMAL"): 1,
    ("BIGINT", "DOUBLE"): 2,
    ("DECIMAL", "DOUBLE"): 1,
}

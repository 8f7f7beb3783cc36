"""Decorators that make Python functions and classes functions of SQL; their types follow from the annotations.

``@ksqlpy.udf`` stands on a function of one row, ``@ksqlpy.udtf`` on a generator of rows, ``@ksqlpy.udaf`` on the class
of an aggregate. What they stand on stays as it is, so that a test calls it as plain Python.

This file needs the standard library only: in a worker process, which may have no ksqlpy, it is the module ``ksqlpy``.
"""

from __future__ import annotations

import collections.abc as abc
import contextlib
import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from types import FunctionType
from typing import Any, Literal, TypeVar, get_type_hints, overload

__all__ = ["DeclarationError", "Declared", "described", "udaf", "udf", "udtf"]

OnError = Literal["null", "dead-letter", "stop"]
_MARK = "__ksqlpy__"
_STATES = {"init": 0, "add": 1, "undo": 1, "merge": 2, "result": 1}
"""The methods of an aggregate, and how many states each takes."""
_NEEDED = ("init", "add", "result")


class DeclarationError(TypeError):
    """A function or class cannot be a function of SQL: a code, one sentence, and the place in the user's file."""

    def __init__(self, code: str, message: str, file: str, line: int) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.code = code
        self.message = message
        self.file = file
        self.line = line


class Declared:
    """What a decorator was told; an attribute of what it stands on."""

    def __init__(self, kind: str, target: Any, options: Mapping[str, Any], file: str, line: int) -> None:
        inner = inspect.unwrap(target) if callable(target) else target
        code = getattr(inner, "__code__", None)
        self.kind = kind
        self.file: str = code.co_filename if code else file
        self.line: int = code.co_firstlineno if code else line
        self.callable: str = target.__name__
        self.options = options
        self.methods_of: dict[str, _Method] = {}
        self._check_options()
        if kind == "AGGREGATE":
            self._read_class(target)
        else:
            self.methods_of["call"] = self._read_function(target)
        with contextlib.suppress(NameError):  # of a class that comes further below in the file
            self.types()

    def refuse(self, code: str, message: str, line: int | None = None) -> DeclarationError:
        """The error, at the line of the declaration if no other is said."""
        return DeclarationError(code, f"{self.callable}: {message}", self.file, line or self.line)

    def _check_options(self) -> None:
        on_error, timeout = self.options["on_error"], self.options["timeout"]
        known = ("null", "stop") if self.kind == "AGGREGATE" else ("null", "dead-letter", "stop")
        if on_error not in known:
            said = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
            raise self.refuse("bad-declaration", f"on_error is {said}, not {on_error!r}")
        number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not number or not 0.001 <= timeout <= 3600:
            raise self.refuse("bad-declaration", f"timeout is in seconds, 0.001 to 3600, not {timeout!r}")
        name = self.options["name"]
        if name is not None and not (isinstance(name, str) and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)):
            raise self.refuse("bad-declaration", f"name is made of letters, digits and _, not {name!r}")

    def _read_function(self, target: Any) -> _Method:
        if not isinstance(inspect.unwrap(target), FunctionType):
            raise self.refuse("bad-declaration", f"a function is expected here, not {_named(target)}")
        method = _Method(self, target, "call")
        generates = inspect.isgeneratorfunction(method.function)
        if generates and self.kind == "SCALAR":
            raise self.refuse("bad-declaration", "it yields: write @udtf for several rows", method.line)
        return method

    def _read_class(self, target: Any) -> None:
        if not isinstance(target, type):
            raise self.refuse("bad-declaration", f"an aggregate is a class with the methods {', '.join(_NEEDED)}")
        for name in _STATES:
            found = inspect.getattr_static(target, name, None)
            if isinstance(found, staticmethod):
                self.methods_of[name] = _Method(self, found.__func__, name)
            elif isinstance(found, FunctionType):
                self.methods_of[name] = _Method(self, found, name, of_self=True)
            elif found is not None:
                raise self.refuse("bad-declaration", f"{name} is to be a method, not {_named(found)}")
        missing = [name for name in _NEEDED if name not in self.methods_of]
        if missing:
            raise self.refuse("bad-declaration", f"the class has no method {' and no method '.join(missing)}")
        made = inspect.getattr_static(target, "__init__")
        if isinstance(made, FunctionType):
            wanted = [p for p in list(inspect.signature(made).parameters.values())[1:] if p.default is p.empty]
            if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in wanted):
                raise self.refuse("bad-declaration", "__init__ takes no arguments: nobody gives it any")
        for name, method in self.methods_of.items():
            count, states = len(method.parameters), _STATES[name]
            if count < states or (count > states and name not in ("add", "undo")):
                takes = ("nothing", "the state", "two states")[states]
                more = " and the arguments" if name in ("add", "undo") else ""
                raise self.refuse("bad-declaration", f"{name} takes {takes}{more}", method.line)

    def types(self) -> dict[str, Any]:
        """The SQL types: ``parameters`` (pairs of name and type), ``returns`` and, of an aggregate, ``state``.

        Raises DeclarationError, and NameError where an annotation names what there is not.
        """
        methods = {name: method.hints() for name, method in self.methods_of.items()}
        if self.kind != "AGGREGATE":
            parameters, returns = methods["call"]
            return {"parameters": _arguments(parameters), "returns": returns.sql}
        state = methods["init"][1].sql
        arguments = methods["add"][0][1:]
        for name, (parameters, returns) in methods.items():
            line, states = self.methods_of[name].line, _STATES[name]
            for n, hint in parameters[:states]:
                if hint.sql != state:
                    raise self.refuse(
                        "bad-annotation", f"{n} of {name} is the state, {state} as init gives it, not {hint.sql}", line
                    )
            if name != "result" and returns.sql != state:
                raise self.refuse(
                    "bad-annotation", f"{name} gives the state, {state} as init does, not {returns.sql}", line
                )
            if name == "undo" and [h.sql for _, h in parameters[1:]] != [h.sql for _, h in arguments]:
                raise self.refuse("bad-annotation", "undo takes the same arguments as add", line)
        return {"parameters": _arguments(arguments), "returns": methods["result"][1].sql, "state": state}

    def described(self) -> dict[str, Any]:
        """All that a definition needs, as JSON."""
        try:
            types = self.types()
        except NameError as e:
            raise self.refuse("bad-annotation", f"an annotation names what there is not: {e}") from None
        return {
            "name": (self.options["name"] or self.callable).upper(),
            "kind": self.kind,
            **types,
            "callable": self.callable,
            "deterministic": self.options["deterministic"],
            "on_error": self.options["on_error"],
            "timeout_ms": max(1, round(self.options["timeout"] * 1000)),
            "help": self.options["help"],
            "undo": "undo" in self.methods_of,
            "merge": "merge" in self.methods_of,
            "line": self.line,
        }

    def call(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a worker calls it, with the values of SQL."""
        return self.methods_of["call"].taking_values(target)

    def methods(self, target: type) -> dict[str, Callable[..., Any]]:
        """The methods of a new object of an aggregate's class, as a worker calls them."""
        made = target()
        return {name: method.taking_values(getattr(made, name)) for name, method in self.methods_of.items()}


class _Method:
    """A function or method, and the types of its annotations."""

    def __init__(self, of: Declared, target: Any, name: str, *, of_self: bool = False) -> None:
        self.of = of
        self.name = name
        self.function: FunctionType = inspect.unwrap(target)
        self.line = self.function.__code__.co_firstlineno
        called = "" if name == "call" else f" of {name}"
        code = "bad-declaration"
        if self.function.__name__ == "<lambda>":
            raise of.refuse(code, "a lambda has no annotations: write a function with def", self.line)
        if inspect.iscoroutinefunction(self.function) or inspect.isasyncgenfunction(self.function):
            raise of.refuse(code, f"async functions{called} are not called: write def", self.line)
        if inspect.isgeneratorfunction(self.function) and of.kind == "AGGREGATE":
            raise of.refuse(code, f"{name} yields: it is to return one value", self.line)
        parameters = list(inspect.signature(target).parameters.values())
        if of_self and parameters:
            parameters = parameters[1:]
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                stars = "*" if p.kind == p.VAR_POSITIONAL else "**"
                raise of.refuse(code, f"{stars}{p.name}{called}: SQL gives a fixed list of arguments", self.line)
            if p.kind == p.KEYWORD_ONLY:
                raise of.refuse(
                    code, f"{p.name}{called} is taken by name only: SQL gives arguments by place", self.line
                )
            if p.default is not p.empty:
                raise of.refuse(code, f"{p.name}{called} has a default, which SQL does not know", self.line)
        self.parameters = [p.name for p in parameters]

    def hints(self) -> tuple[list[tuple[str, _Hint]], _Hint]:
        """Those of the parameters with their names, and that of the result."""
        found = get_type_hints(self.function, include_extras=True)
        called = "" if self.name == "call" else f" of {self.name}"
        missing = [f"parameter {p}" for p in self.parameters if p not in found]
        missing += ["result"] if "return" not in found else []
        if missing:
            listed = " and ".join(missing)
            raise self.of.refuse("bad-annotation", f"the {listed}{called} has no annotation of its type", self.line)
        parameters = [(p, self._hint(found[p], f"parameter {p}{called}")) for p in self.parameters]
        result = found["return"]
        if self.of.kind == "TABLE":
            result = self._item(result)
        return parameters, self._hint(result, f"the result{called}")

    def _hint(self, annotation: Any, what: str) -> _Hint:
        try:
            return _hint_of(annotation)
        except ValueError as e:
            raise self.of.refuse("bad-annotation", f"{what}: {e}", self.line) from None

    def _item(self, annotation: Any) -> Any:
        if typing.get_origin(annotation) in _SEVERAL and (items := typing.get_args(annotation)):
            return items[0]
        message = "the result of a @udtf is several values: annotate it as Iterator[…], Iterable[…] or list[…]"
        raise self.of.refuse("bad-annotation", message, self.line)

    def taking_values(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function over the values of SQL: a struct becomes an object of the class that is annotated."""
        makers = [hint.maker for _, hint in self.hints()[0]]
        if not any(makers):
            return function

        def call(*values: Any) -> Any:
            given = (v if make is None or v is None else make(v) for make, v in zip(makers, values, strict=True))
            return function(*given)

        return call


@dataclasses.dataclass(frozen=True)
class _Hint:
    """The SQL type of an annotation; ``maker``: from a value of SQL to the annotated class, None if it is of it."""

    sql: str
    maker: Callable[[Any], Any] | None = None


_SCALARS: Mapping[Any, str] = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bytes: "BYTES",
    date: "DATE",
    time: "TIME",
    datetime: "TIMESTAMP",
}
_LISTS = (list, abc.Sequence)
_MAPS = (dict, abc.Mapping)
_SEVERAL = (*_LISTS, abc.Iterator, abc.Iterable, abc.Generator)


def _hint_of(annotation: Any, inside: tuple[Any, ...] = ()) -> _Hint:
    """The SQL type of an annotation; raises ValueError, with the reason, if it has none.

    ``inside``: the classes of which it is a field.
    """
    while (of := getattr(annotation, "__supertype__", None) or getattr(annotation, "__value__", None)) is not None:
        annotation = of  # NewType, and the names that the statement type gives
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        said = [m for m in annotation.__metadata__ if isinstance(m, str)]
        if not said:
            return _hint_of(arguments[0], inside)
        try:
            return dataclasses.replace(_hint_of(arguments[0], inside), sql=said[0])
        except ValueError:  # such as Decimal, which alone does not say its digits
            return _Hint(said[0])
    if origin in (typing.Union, types.UnionType):
        others = [a for a in arguments if a is not type(None)]
        if len(others) == 1:
            return _hint_of(others[0], inside)  # every value of SQL may be null
        raise ValueError(f"a value of SQL has one type, not {_named(annotation)}")
    if annotation in _SCALARS:
        return _Hint(_SCALARS[annotation])
    if annotation is Decimal:
        raise ValueError('Decimal does not say its digits: write Annotated[Decimal, "DECIMAL(10, 2)"]')
    if annotation in (*_LISTS, *_MAPS):
        name = annotation.__name__
        raise ValueError(f"{name} does not say what it holds: write {name}[{'str, ' * (annotation in _MAPS)}int]")
    if origin in _LISTS:
        item = _hint_of(arguments[0], inside)
        return _Hint(f"ARRAY<{item.sql}>", _each(item.maker))
    if origin in _MAPS:
        if arguments[0] is not str:
            raise ValueError(f"the keys of a MAP are str, not {_named(arguments[0])}")
        value = _hint_of(arguments[1], inside)
        return _Hint(f"MAP<STRING, {value.sql}>", _each_value(value.maker))
    if isinstance(annotation, type) and (fields := _fields(annotation)) is not None:
        return _struct(annotation, fields, inside)
    raise ValueError(f"{_named(annotation)} is no type of SQL")


def _fields(of: type) -> list[str] | None:
    """The names of the fields of a dataclass, NamedTuple or TypedDict; None of another class."""
    if dataclasses.is_dataclass(of):
        return [f.name for f in dataclasses.fields(of) if f.init]
    if typing.is_typeddict(of):
        return list(of.__annotations__)
    return list(of._fields) if issubclass(of, tuple) and hasattr(of, "_fields") else None


def _struct(of: type, names: list[str], inside: tuple[Any, ...]) -> _Hint:
    if of in inside:
        raise ValueError(f"{_named(of)} holds itself")
    if not names:
        raise ValueError(f"{_named(of)} has no fields")
    hints = get_type_hints(of, include_extras=True)
    found: dict[str, _Hint] = {}
    for name in names:
        if name not in hints:
            raise ValueError(f"field {name} of {_named(of)} has no annotation of its type")
        try:
            found[name] = _hint_of(hints[name], (*inside, of))
        except ValueError as e:
            raise ValueError(f"field {name} of {_named(of)}: {e}") from None
    upper = [name.upper() for name in names]
    if len(set(upper)) < len(upper):
        raise ValueError(f"fields of {_named(of)} differ in the case of letters only, which SQL does not tell apart")
    places = list(zip(names, upper, (h.maker for h in found.values()), strict=True))

    def make(value: Any) -> Any:
        given = {n: v if m is None or v is None else m(v) for n, u, m in places for v in (_field(value, n, u),)}
        return of(**given)

    inner = ", ".join(f"`{u}` {h.sql}" for u, h in zip(upper, found.values(), strict=True))
    return _Hint(f"STRUCT<{inner}>", make)


def _field(struct: Mapping[str, Any], name: str, upper: str) -> Any:
    return struct[upper] if upper in struct else struct.get(name)


def _each(maker: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return maker and (lambda items: [None if i is None else maker(i) for i in items])


def _each_value(maker: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return maker and (lambda entries: {k: None if v is None else maker(v) for k, v in entries.items()})


def _named(of: Any) -> str:
    return of.__name__ if isinstance(of, type) and not typing.get_args(of) else str(of).replace("typing.", "")


def _arguments(hints: list[tuple[str, _Hint]]) -> list[list[str]]:
    return [[name.upper(), hint.sql] for name, hint in hints]


def described(namespace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All that a module declares, in the order of its lines; what it imports from another module is not its own.

    Raises DeclarationError.
    """
    found: list[tuple[Declared, Any]] = []
    for name, value in namespace.items():
        mark = vars(value).get(_MARK) if hasattr(value, "__dict__") else None
        if not isinstance(mark, Declared) or value.__module__ != namespace["__name__"]:
            continue
        if namespace.get(mark.callable) is not value:
            mark.callable = name
        if all(value is not known for _, known in found):
            found.append((mark, value))
    found.sort(key=lambda f: f[0].line)
    all_described = [mark.described() for mark, _ in found]
    names: dict[str, int] = {}
    for (mark, _), one in zip(found, all_described, strict=True):
        if one["name"] in names:
            raise mark.refuse("bad-declaration", f"function {one['name']} is declared in line {names[one['name']]} too")
        names[one["name"]] = one["line"]
    return all_described


_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)


def _declared(kind: str, target: Any, **options: Any) -> Any:
    """What a decorator gives: the target itself, marked; without a target the decorator that marks it."""
    if target is None:
        return lambda given: _marked(kind, given, options, sys._getframe(1))  # noqa: SLF001
    return _marked(kind, target, options, sys._getframe(2))  # noqa: SLF001


def _marked(kind: str, target: Any, options: dict[str, Any], at: types.FrameType) -> Any:
    first = (inspect.getdoc(target) or "").split("\n\n")[0] if getattr(target, "__doc__", None) else ""
    options = {**options, "help": " ".join(first.split())}
    setattr(target, _MARK, Declared(kind, target, options, at.f_code.co_filename, at.f_lineno))
    return target


@overload
def udf(function: _F, /) -> _F: ...
@overload
def udf(
    *, name: str | None = None, deterministic: bool = True, on_error: OnError = "null", timeout: float = 1.0
) -> Callable[[_F], _F]: ...
def udf(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    deterministic: bool = True,
    on_error: OnError = "null",
    timeout: float = 1.0,
) -> Any:
    """Makes a Python function one of SQL, which is called for each row.

    ``name``: in SQL, if it is not the function's. ``deterministic``: whether equal arguments give equal results.
    ``on_error``: what an exception does: the result is null, the row becomes a dead letter, or the query stops.
    ``timeout``: seconds that a call may take.
    """
    return _declared("SCALAR", function, name=name, deterministic=deterministic, on_error=on_error, timeout=timeout)


@overload
def udtf(function: _F, /) -> _F: ...
@overload
def udtf(
    *, name: str | None = None, deterministic: bool = True, on_error: OnError = "null", timeout: float = 1.0
) -> Callable[[_F], _F]: ...
def udtf(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    deterministic: bool = True,
    on_error: OnError = "null",
    timeout: float = 1.0,
) -> Any:
    """Makes a generator a table function of SQL: a row for each value that it yields. See :func:`udf`."""
    return _declared("TABLE", function, name=name, deterministic=deterministic, on_error=on_error, timeout=timeout)


@overload
def udaf(of: _C, /) -> _C: ...
@overload
def udaf(
    *, name: str | None = None, on_error: Literal["null", "stop"] = "null", timeout: float = 1.0
) -> Callable[[_C], _C]: ...
def udaf(
    of: Any = None, /, *, name: str | None = None, on_error: Literal["null", "stop"] = "null", timeout: float = 1.0
) -> Any:
    """Makes a class an aggregate of SQL. Its methods take the state of a group and give the new one.

    ``init()`` gives the state of no rows, ``add(state, …)`` that with one more row, ``result(state)`` the value.
    ``undo(state, …)`` takes a row back, which GROUP BY of a table needs; ``merge(one, other)`` makes one state of two,
    which WINDOW SESSION needs. The state is a value of SQL: nothing else is kept, not even ``self``.

    ``on_error``: a row whose call fails leaves the state as it is, or stops the query.
    """
    return _declared("AGGREGATE", of, name=name, deterministic=True, on_error=on_error, timeout=timeout)

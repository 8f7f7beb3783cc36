"""Functions of a program as CREATE FUNCTION statements: by their module where it is installed, else by their text.

The text of a function is its own, with what it names of its module: imports, plain values, other functions and classes.
"""

from __future__ import annotations

import ast
import inspect
import re
import site
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from ksqlpy.errors import AnalysisProblem, ConfigProblem, shown
from ksqlpy.udfs.declare import DeclarationError, Declared, udaf, udf, udtf
from ksqlpy.udfs.definition import Definition

__all__ = ["statements"]

_MARK = "__ksqlpy__"
_DECORATORS = {"SCALAR": "udf", "TABLE": "udtf", "AGGREGATE": "udaf"}
_OWN = {"udf", "udtf", "udaf", "register"}
"""Decorators that are left out of a text: what they say stands in the statement."""

_PLAIN = (str, bytes, int, float, complex, bool, types.NoneType, Decimal, UUID, date, datetime, time, timedelta)
_SEVERAL = (list, tuple, set, frozenset)


def statements(function: Any, name: str | None) -> list[str]:
    """CREATE OR REPLACE FUNCTION for a function or class: what is tried, one after the other.

    ``name``: in SQL, another one than it has. Raises AnalysisProblem for what cannot be a function of SQL,
    ConfigProblem ``bad-function`` where its text cannot be given to workers.
    """
    from ksqlpy.udfs.source import definition_of
    from ksqlpy.udfs.statement import create_statement

    mark = _mark(function)
    try:
        one = mark.described()
    except DeclarationError as e:
        raise _refused(e) from e
    one["name"] = (name or one["name"]).upper()
    found = []
    if _is_installed(function):
        callable_ = f"{function.__module__}:{function.__qualname__}"
        found.append(create_statement(definition_of(one, mark.file, body="", callable_=callable_), replace=True))
    made: Definition = definition_of(one, mark.file, body=_text(function, mark), callable_=function.__name__)
    if function.__name__.upper() != one["name"]:
        made = _called(made)
    try:
        found.append(create_statement(made, replace=True))
    except ValueError as e:
        raise _untold(
            function, "has $$ in it, which ends a text in SQL", "write it in two pieces, such as '$' '$'"
        ) from e
    return found


def _called(made: Definition) -> Definition:
    from dataclasses import replace

    return replace(made, body=f"{made.body}\n\n{made.name.lower()} = {made.callable}\n")


def _mark(function: Any) -> Declared:
    """What its decorator says; without one what follows from what it is."""
    found = vars(function).get(_MARK) if hasattr(function, "__dict__") else None
    if isinstance(found, Declared):
        return found
    if not callable(function):
        raise ConfigProblem("bad-function", f"{shown(function)} is no function", hint="register(function) takes one")
    try:
        if isinstance(function, type):
            udaf(function)
        elif inspect.isgeneratorfunction(inspect.unwrap(function)):
            udtf(function)
        else:
            udf(function)
    except DeclarationError as e:
        raise _refused(e) from e
    except (AttributeError, TypeError) as e:
        raise ConfigProblem("bad-function", f"{shown(function)} cannot be a function of SQL: {e}") from e
    made: Declared = getattr(function, _MARK)
    return made


def _is_installed(function: Any) -> bool:
    """Whether it is of a module that is installed, so that workers may have the same."""
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if file is None or "<locals>" in function.__qualname__:
        return False
    folders = {*site.getsitepackages(), site.getusersitepackages(), *map(sysconfig.get_path, ("stdlib", "purelib"))}
    return any(Path(file).is_relative_to(folder) for folder in folders)


# ---------------------------------------------------------------- texts


def _text(function: Any, mark: Declared) -> str:
    """A module with the function and what it needs."""
    made = _Module()
    made.add(inspect.unwrap(function), _DECORATORS[mark.kind])
    return made.text


class _Module:
    """The text of a module that grows by what it needs."""

    def __init__(self) -> None:
        self._ahead: list[str] = []
        self._parts: list[str] = []
        self._known: dict[str, object] = {}

    @property
    def text(self) -> str:
        head = ["from __future__ import annotations", "", "import ksqlpy", *self._ahead]
        return "\n".join(head) + "\n\n\n" + "\n\n\n".join(self._parts) + "\n"

    def add(self, what: Any, decorator: str | None = None) -> None:
        """A function or class, behind all that it names. Raises ConfigProblem ``bad-function``."""
        self._known[what.__name__] = what
        tree, lines = _parsed(what)
        tree.decorator_list = [d for d in tree.decorator_list if _last_name(d) not in _OWN]
        for name in _names(tree):
            value = _value(what, name)
            if value is not _NONE:
                self._need(name, value, what)
        decorators = [f"@ksqlpy.{decorator}"] if decorator is not None else []
        decorators += [f"@{ast.unparse(d)}" for d in tree.decorator_list]
        self._parts.append("\n".join([*decorators, *lines]))

    def _need(self, name: str, value: Any, user: Any) -> None:
        if name in self._known:
            if self._known[name] is not value:
                raise _untold(user, f"calls two things {name}", "give one of them another name")
            return
        self._known[name] = value
        if isinstance(value, types.ModuleType):
            whole = value.__name__
            self._ahead.append(f"import {whole}" if whole == name else f"import {whole} as {name}")
        elif _is_plain(value):
            self._parts.append(f"{name} = {_written(value)}")
            self._ahead += [line for line in _needed_by(value) if line not in self._ahead]
        elif isinstance(value, types.FunctionType | type) and value.__module__ == user.__module__:
            if value.__name__ != name:
                raise _untold(user, f"names {value.__name__} as {name}", "name it as it is defined")
            self.add(value)
        elif (module := getattr(value, "__module__", None)) and hasattr(sys.modules.get(module), _own_name(value)):
            own = _own_name(value)
            self._ahead.append(f"from {module} import {own}" + ("" if own == name else f" as {name}"))
        else:
            said = f"names {name}, a {type(value).__name__}, which cannot be given to another process as text"
            raise _untold(user, said, "make it inside of the function, or install the module that has the function")


_NONE = object()


def _value(of: Any, name: str) -> Any:
    """What a name means in a function or class, :data:`_NONE` for what is no name of its module."""
    functions = [of] if isinstance(of, types.FunctionType) else [
        f for f in (inspect.unwrap(getattr(m, "__func__", m)) for m in vars(of).values())
        if isinstance(f, types.FunctionType)
    ]  # fmt: skip
    for function in functions:
        free = function.__code__.co_freevars
        if name in free and function.__closure__ is not None:
            try:
                return function.__closure__[free.index(name)].cell_contents
            except ValueError:  # it is not there yet
                continue
    module = sys.modules.get(of.__module__)
    places = [functions[0].__globals__] if functions else [vars(module)] if module is not None else []
    return next((place[name] for place in places if name in place), _NONE)


def _parsed(what: Any) -> tuple[ast.FunctionDef | ast.ClassDef, list[str]]:
    """A function or class as a tree, and its lines without decorators."""
    try:
        text = textwrap.dedent(inspect.getsource(what)).rstrip()
        [found] = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError) as e:
        raise _untold(
            what, "has no source text that can be read", "write it in a file, or CREATE FUNCTION … AS $$"
        ) from e
    if not isinstance(found, ast.FunctionDef | ast.ClassDef):
        raise _untold(what, "is no def and no class", "write a function with def")
    return found, text.split("\n")[found.lineno - 1 :]


def _names(tree: ast.AST) -> Iterator[str]:
    """All names that stand in a text, also in annotations that are texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                yield from re.findall(r"[A-Za-z_]\w*", annotation.value)


def _last_name(decorator: ast.expr) -> str:
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""


def _own_name(value: Any) -> str:
    return str(getattr(value, "__name__", None) or getattr(value, "_name", None) or "")


def _is_plain(value: object) -> bool:
    """Whether its value can be written as Python."""
    if type(value) in _SEVERAL:
        return all(map(_is_plain, value))  # type: ignore[call-overload]  # one of those
    if type(value) is dict:
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    if isinstance(value, datetime | time) and value.tzinfo is not None:
        return False
    return type(value) in _PLAIN or isinstance(value, re.Pattern)


def _written(value: Any) -> str:
    if isinstance(value, re.Pattern):
        return f"re.compile({value.pattern!r}, {int(value.flags)})"
    if isinstance(value, float) and repr(value) in ("inf", "-inf", "nan"):
        return f"float({repr(value)!r})"
    if type(value) is dict:
        return "{" + ", ".join(f"{_written(k)}: {_written(v)}" for k, v in value.items()) + "}"
    if type(value) in _SEVERAL and value:
        inner = ", ".join(map(_written, value))
        if type(value) is tuple:
            return f"({inner},)"
        return f"[{inner}]" if type(value) is list else f"{type(value).__name__}([{inner}])"
    return repr(value)


def _needed_by(value: Any) -> list[str]:
    """Imports without which a written value means nothing."""
    if type(value) is dict:
        return [line for pair in value.items() for part in pair for line in _needed_by(part)]
    if type(value) in _SEVERAL:
        return [line for part in value for line in _needed_by(part)]
    if isinstance(value, re.Pattern):
        return ["import re"]
    if isinstance(value, Decimal):
        return ["from decimal import Decimal"]
    if isinstance(value, UUID):
        return ["from uuid import UUID"]
    return ["import datetime"] if isinstance(value, date | time | timedelta) else []


def _refused(error: DeclarationError) -> AnalysisProblem:
    if error.code == "bad-annotation":
        return AnalysisProblem("bad-annotation", str(error))
    return AnalysisProblem("bad-declaration", str(error))


def _untold(function: Any, said: str, hint: str) -> ConfigProblem:
    return ConfigProblem("bad-function", f"{getattr(function, '__qualname__', function)} {said}", hint=hint)

"""From the text of CREATE FUNCTION to Python source: a whole ``def`` or class, or only its body.

A body without a ``def`` gets one, so that its lines keep their numbers wherever that is possible. Nothing is run here.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ksqlpy.udfs.definition import Kind

__all__ = ["LARGEST", "Source", "TextProblem", "is_parameter", "source_of"]

LARGEST = 200_000
"""Characters of a text: it travels with every task that calls the function."""

_Def = ast.FunctionDef | ast.AsyncFunctionDef
_SIMPLE = (ast.Return, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Import, ast.ImportFrom)
_NEEDED = {"init": 0, "add": 1, "result": 1}
"""Of an aggregate's class: methods, and how many states they take."""
_OPTIONAL = {"undo": 1, "merge": 2}


class TextProblem(Exception):
    """What is wrong with a text, and where: the line and the column, from 1; ``hint``: what to write instead."""

    def __init__(self, message: str, line: int = 1, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


@dataclass(frozen=True)
class Source:
    """``body``: Python source in which ``callable`` is defined; ``help``: the first paragraph of its docstring.

    ``methods``: of a class, those that it has.
    """

    body: str
    callable: str
    help: str = ""
    methods: frozenset[str] = frozenset()


def is_parameter(name: str) -> bool:
    """Whether Python can have a parameter, or a function, of that name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def source_of(text: str, name: str, parameters: Sequence[str], kind: Kind) -> Source:
    """The source of a function, whose name is compared without case. Raises TextProblem."""
    if len(text) > LARGEST:
        hint = "keep what is large in a module, and write AS 'module:callable'"
        raise TextProblem(f"the text has {len(text):,} characters, and {LARGEST:,} are the most", hint=hint)
    text = text.replace("\r\n", "\n")
    block = _Block(text)
    called = _alias(block, name)
    found = next((s for s in block.statements if _names(s, called or name, kind)), None)
    if found is None:
        return _wrapped(block, name, parameters, kind)
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)
    methods = frozenset[str]()
    if isinstance(found, ast.ClassDef):
        methods = _methods(found, block, len(parameters))
    else:
        _check_count(found, len(parameters), block, f"{found.name} takes")
    body = block.moved(-len(block.indent))
    _compiled(body)
    return Source(body, found.name, _help(found), methods)


def _alias(block: _Block, name: str) -> str | None:
    """What stands behind ``name =``, as where a function has another name in SQL."""
    for s in block.statements:
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and len(s.targets) == 1:
            target = s.targets[0]
            if isinstance(target, ast.Name) and target.id.upper() == name.upper():
                return s.value.id
    return None


def _names(statement: ast.stmt, name: str, kind: Kind) -> bool:
    wanted = ast.ClassDef if kind == "AGGREGATE" else ast.FunctionDef
    return isinstance(statement, wanted) and statement.name.upper() == name.upper()


# ---------------------------------------------------------------- reading


class _Block:
    """A text as a block of Python: its statements, and how far in they stand."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        code = next((line for line in self.lines if line.strip() and not line.lstrip().startswith("#")), "")
        self.indent = code[: len(code) - len(code.lstrip(" \t"))]
        head = "def _():\n" if self.indent else ""
        self._ahead = 1 if self.indent else 0
        tree = _parsed(head + text, self._ahead)
        self.statements: list[ast.stmt] = tree.body
        if self.indent:
            [outer] = tree.body
            assert isinstance(outer, ast.FunctionDef)
            self.statements = outer.body

    def place(self, node: ast.stmt) -> tuple[int, int]:
        """Line and column of a statement in the text, from 1."""
        return node.lineno - self._ahead, node.col_offset + 1

    def moved(self, by: int) -> str:
        """The text with all lines further in, or with less than 0 further out; what stands in strings stays."""
        inside = {n for s in self.statements for n in _in_strings(s)}
        lines = []
        for number, line in enumerate(self.lines, 1):
            if number + self._ahead in inside or not line.strip():
                lines.append(line)
            elif by > 0:
                lines.append(" " * by + line)
            else:
                lines.append(line[min(-by, len(line) - len(line.lstrip(" \t"))) :])
        return "\n".join(lines)


def _in_strings(statement: ast.stmt) -> Iterator[int]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
            yield from range(node.lineno + 1, node.end_lineno + 1)


def _parsed(source: str, ahead: int) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as e:
        hint = None
        if isinstance(e, IndentationError):
            hint = "let the text begin on a line of its own, behind $$, with all its lines equally far in"
        raise TextProblem(f"not Python: {e.msg}", max(1, (e.lineno or 1) - ahead), max(1, e.offset or 1), hint) from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise TextProblem(f"not Python: {e or 'nested too deeply'}") from e


def _compiled(source: str, ahead: int = 0) -> None:
    """Refuses what parses and is no Python all the same, such as a ``return`` outside of a function."""
    try:
        compile(source, "<function>", "exec", dont_inherit=True)
    except SyntaxError as e:
        raise TextProblem(f"not Python: {e.msg}", max(1, (e.lineno or 1) - ahead), max(1, e.offset or 1)) from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise TextProblem(f"not Python: {e or 'nested too deeply'}") from e


def _help(node: ast.FunctionDef | ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(re.split(r"\n\s*\n", text.strip())[0].split())


# ---------------------------------------------------------------- a body alone


def _wrapped(block: _Block, name: str, parameters: Sequence[str], kind: Kind) -> Source:
    called = name.lower() if is_parameter(name.lower()) else f"{name.lower()}_"
    if kind == "AGGREGATE":
        hint = f"write class {called}: with the methods init, add and result"
        raise TextProblem(f"the text has no class {called}", hint=hint)
    gives = "yield" if kind == "TABLE" else "return"
    wanted = (ast.Yield, ast.YieldFrom) if kind == "TABLE" else (ast.Return,)
    if not any(isinstance(node, wanted) for s in block.statements for node in _same_function(s)):
        hint = f"write def {called}({', '.join(parameters)}): …, or only its body, with a {gives}"
        raise TextProblem(f"the text has no def {called}, and no {gives} of its own", hint=hint)
    head = f"def {called}({', '.join(parameters)}):"
    lines = (block.moved(0) if block.indent else block.moved(4)).split("\n")
    first = block.lines[0].strip()
    alone = all(isinstance(s, _SIMPLE) and block.place(s)[0] == 1 for s in block.statements)
    ahead = 0
    if not first or first.startswith("#"):
        body = "\n".join([f"{head}  {first}".rstrip(), *lines[1:]])
    elif alone and len([line for line in lines if line.strip()]) == 1:
        body = f"{head} {first}"
    else:
        body, ahead = "\n".join([head, *lines]), 1
    _compiled(body, ahead)
    made = ast.parse(body).body[0]
    assert isinstance(made, ast.FunctionDef)
    return Source(body, called, _help(made))


def _same_function(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that belong to the function around it, not to one that it defines."""
    yield statement
    if isinstance(statement, _Def | ast.ClassDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(statement):
        yield from _same_function(child)


# ---------------------------------------------------------------- what a whole one takes


def _check_count(found: ast.FunctionDef, wanted: int, block: _Block, what: str, bound: int = 0) -> None:
    """Refuses a function that cannot take so many arguments; ``bound``: how many, such as ``self``, come before."""
    args = found.args
    most = len(args.posonlyargs) + len(args.args) - bound
    least = most - len(args.defaults)
    named = [a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    if named:
        raise TextProblem(f"{what} {named[0]} by its name only", *block.place(found), hint="leave the * out")
    if wanted < least or (wanted > most and args.vararg is None):
        count = f"{least}" if least == most else f"{least} to {most}"
        message = f"{what} {count} argument{'' if count == '1' else 's'}, and the statement gives it {wanted}"
        raise TextProblem(message, *block.place(found))


def _methods(found: ast.ClassDef, block: _Block, arguments: int) -> frozenset[str]:
    made = {s.name: s for s in found.body if isinstance(s, ast.FunctionDef)}
    for name, states in {**_NEEDED, **_OPTIONAL}.items():
        method = made.get(name)
        if method is not None:
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)
            count = states + (arguments if name in ("add", "undo") else 0)
            _check_count(method, count, block, f"{found.name}.{name} takes", 0 if static else 1)
        elif name in _NEEDED and not found.bases:
            hint = "init() gives the first state, add(state, …) the next one, result(state) the value"
            raise TextProblem(f"the class {found.name} has no method {name}", *block.place(found), hint=hint)
    return frozenset(made)

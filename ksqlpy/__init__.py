"""ksqlDB's language and REST API on Apache Spark, in Python.

What stands here is what programs import; it is loaded when it is used first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ksqlpy.version import __version__

if TYPE_CHECKING:
    from ksqlpy.errors import (
        AnalysisProblem,
        ConfigProblem,
        EngineProblem,
        EnvironmentProblem,
        KsqlError,
        RowProblem,
        ServiceLost,
        StatementError,
        SyntaxProblem,
    )
    from ksqlpy.session.answers import Answer
    from ksqlpy.session.asynchronous import (
        AsyncEngine,
        AsyncQuery,
        AsyncResult,
        AsyncSession,
        AsyncSubscription,
        AsyncTable,
    )
    from ksqlpy.session.embedded import Engine
    from ksqlpy.session.persistent import Query
    from ksqlpy.session.remote import aconnect, connect
    from ksqlpy.session.result import Result
    from ksqlpy.session.rows import Column, Row
    from ksqlpy.session.session import Session
    from ksqlpy.session.subscriptions import Subscription
    from ksqlpy.session.tables import Table
    from ksqlpy.udfs.declare import udaf, udf, udtf

__all__ = [
    "AnalysisProblem",
    "Answer",
    "AsyncEngine",
    "AsyncQuery",
    "AsyncResult",
    "AsyncSession",
    "AsyncSubscription",
    "AsyncTable",
    "Column",
    "ConfigProblem",
    "Engine",
    "EngineProblem",
    "EnvironmentProblem",
    "KsqlError",
    "Query",
    "Result",
    "Row",
    "RowProblem",
    "ServiceLost",
    "Session",
    "StatementError",
    "Subscription",
    "SyntaxProblem",
    "Table",
    "__version__",
    "aconnect",
    "connect",
    "udaf",
    "udf",
    "udtf",
]

_PLACES = {
    "AnalysisProblem": "errors",
    "ConfigProblem": "errors",
    "EngineProblem": "errors",
    "EnvironmentProblem": "errors",
    "KsqlError": "errors",
    "RowProblem": "errors",
    "ServiceLost": "errors",
    "StatementError": "errors",
    "SyntaxProblem": "errors",
    "Answer": "session.answers",
    "AsyncEngine": "session.asynchronous",
    "AsyncQuery": "session.asynchronous",
    "AsyncResult": "session.asynchronous",
    "AsyncSession": "session.asynchronous",
    "AsyncSubscription": "session.asynchronous",
    "AsyncTable": "session.asynchronous",
    "aconnect": "session.remote",
    "Engine": "session.embedded",
    "Query": "session.persistent",
    "connect": "session.remote",
    "Result": "session.result",
    "Column": "session.rows",
    "Row": "session.rows",
    "Session": "session.session",
    "Subscription": "session.subscriptions",
    "Table": "session.tables",
    "udaf": "udfs.declare",
    "udf": "udfs.declare",
    "udtf": "udfs.declare",
}
"""The module of each name, which a test compares with the imports above."""


def __getattr__(name: str) -> object:
    from importlib import import_module

    file = _PLACES.get(name)
    if file is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{file}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext ksqlpy`` of IPython and Jupyter calls; see ``ksqlpy.notebook``."""
    from ksqlpy.notebook import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext ksqlpy`` calls."""
    from ksqlpy.notebook import unload_ipython_extension as unload

    unload(shell)

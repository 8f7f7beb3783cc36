"""Functions that users write in Python."""

from __future__ import annotations

from ksqlpy.config.checks import integer, one_of, process_memory
from ksqlpy.config.property import Property

__all__ = ["FUNCTIONS"]

FUNCTIONS = (
    Property(
        "ksqlpy.functions.python.enabled",
        "false",
        "Whether CREATE FUNCTION may make functions in Python. They run as programs on the server's machines: their "
        "processes have limits, but are no sandbox. ksqlpy test switches it on, and so does ksqlpy dev where only this "
        "machine reaches it. Functions that are there work without it.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.functions.python.workers",
        "0",
        "Processes that run functions in Python, of each JVM and of the server; so many calls run at once, others "
        "wait. 0: as many as there are processors, two at least.",
        integer(0, 1000),
    ),
    Property(
        "ksqlpy.functions.python.memory",
        "1g",
        "Address space of each of these processes; a call that needs more fails. Libraries of numbers reserve more "
        "than they use.",
        process_memory,
    ),
    Property(
        "ksqlpy.functions.python.executable",
        "",
        "The Python that runs functions; empty: that of the server, and python3 on executors on other machines.",
    ),
    Property(
        "ksqlpy.functions.python.path",
        "",
        "Folders, with colons between, in which functions AS 'module:callable' find their modules, ahead of those of "
        "the Python that runs them. On a cluster they must be on every machine.",
    ),
    Property(
        "ksqlpy.functions.python.user",
        "",
        "The user whose rights functions have, where the server runs as root; empty: that of the server.",
    ),
)

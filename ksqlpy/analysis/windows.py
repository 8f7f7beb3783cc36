"""The WINDOW clause: lengths, and what is legal of them (ksqlDB, time and windows)."""

from __future__ import annotations

from sqlglot import exp

from ksqlpy.analysis.result import Window
from ksqlpy.analysis.scope import Text
from ksqlpy.config import Config
from ksqlpy.sql.nodes import UNIT_MILLIS

__all__ = ["FORGETFUL", "IDLE", "LATE_TOPIC", "check_final", "checked_length", "read_window"]

FORGETFUL = "ksqlpy.emit.final.forgetful"

IDLE = "ksql.emit.final.idle.ms"

LATE_TOPIC = "ksql.late.records.topic"

PER_RECORD = "ksqlpy.windows.per.record"
_DAY = 86_400_000


def read_window(node: exp.Expr, text: Text, config: Config, *, final: bool) -> Window:
    """The window that is meant; ``final``: of EMIT FINAL. Raises AnalysisProblem ``bad-window``."""
    args, refuse = node.args, text.refuse
    session = args["kind"] == "SESSION"
    lengths = {n: checked_length(args[n], text) for n in _LENGTHS if args.get(n) is not None}
    size = lengths["size"]
    advance = lengths.get("advance", size)
    if size <= 0 and session:
        hint = "the shortest gap is 1 MILLISECOND: sessions are rows of at most so much time apart"
        refuse("bad-window", "the gap of a SESSION window must be positive", args["size"], hint=hint)
    if size <= 0 or advance <= 0:
        refuse("bad-window", "the lengths of a window must be positive", node)
    if advance > size:
        refuse("bad-window", "ADVANCE BY must not be longer than SIZE: rows between windows would be lost", node)
    windows, most = -(-size // advance), config.number(PER_RECORD)
    if windows > most:
        hint = f"ADVANCE BY {-(-size // most)} MILLISECONDS or more; or raise the property {PER_RECORD}"
        refuse("bad-window", f"each record would be in {windows:,} windows, and {most:,} are allowed", node, hint=hint)
    # ksqlDB's default keeps a window open for a day in all, for which nobody waits who wants one result of each window.
    grace = lengths.get("grace", 0 if final else max(0, _DAY - size))
    retention = lengths.get("retention")
    if retention is not None and retention < size + grace:
        what = "the gap" if session else "SIZE"
        hint = f"RETENTION {size + grace} MILLISECONDS" + ("" if "grace" in lengths else ", or a shorter GRACE PERIOD")
        refuse("bad-window", f"RETENTION must be at least {what} + GRACE PERIOD", args["retention"], hint=hint)
    return Window(args["kind"], size, advance, grace, retention, config.get(LATE_TOPIC) or None)


_LENGTHS = ("size", "advance", "grace", "retention")
_LONGEST = 36_500 * _DAY


def checked_length(node: exp.Expr, text: Text) -> int:
    """The milliseconds of a Duration; raises AnalysisProblem ``bad-window`` beyond a hundred years."""
    millis: int = node.millis  # type: ignore[attr-defined]
    if millis > _LONGEST:
        most = _LONGEST // UNIT_MILLIS[node.args["unit"].removesuffix("S")]
        hint = f"the longest is {most} {node.args['unit']}"
        text.refuse("bad-window", "a length of time is at most a hundred years", node, hint=hint)
    return millis


def check_final(node: exp.Expr, text: Text) -> None:
    """Refuses EMIT FINAL of a query without windows; raises AnalysisProblem ``emit-final``."""
    args = node.args
    window, group = args.get("window"), args.get("group")
    if args.get("emit") != "FINAL" or (window is not None and group is not None):
        return
    missing = (
        "no WINDOW" if group is not None else "no GROUP BY" if window is not None else "neither WINDOW nor GROUP BY"
    )
    text.refuse(
        "emit-final",
        f"EMIT FINAL gives the result of a window when it is closed; this query has {missing}",
        window or group or node.expressions[0],
        hint="EMIT CHANGES gives every change; or aggregate in windows: … WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY …",
    )

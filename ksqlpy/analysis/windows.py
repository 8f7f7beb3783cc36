"""The WINDOW clause: lengths, and what is legal of them (ksqlDB, time and windows)."""

from __future__ import annotations

from sqlglot import exp

from ksqlpy.analysis.result import Window
from ksqlpy.analysis.scope import Text
from ksqlpy.config import Config

__all__ = ["LATE_TOPIC", "read_window"]

LATE_TOPIC = "ksql.late.records.topic"
_DAY = 86_400_000


def read_window(node: exp.Expr, text: Text, config: Config) -> Window:
    """The window that is meant; raises AnalysisProblem ``bad-window``."""
    args, refuse = node.args, text.refuse
    size = args["size"].millis
    advance = args["advance"].millis if args.get("advance") is not None else size
    if size <= 0 or advance <= 0:
        refuse("bad-window", "the lengths of a window must be positive", node)
    if advance > size:
        refuse("bad-window", "ADVANCE BY must not be longer than SIZE: rows between windows would be lost", node)
    # ksqlDB's default keeps a window open for a day in all.
    grace = args["grace"].millis if args.get("grace") is not None else max(0, _DAY - size)
    retention = args["retention"].millis if args.get("retention") is not None else None
    if retention is not None and retention < size + grace:
        refuse("bad-window", "RETENTION must be at least SIZE + GRACE PERIOD", args["retention"])
    return Window(args["kind"], size, advance, grace, retention, config.get(LATE_TOPIC) or None)

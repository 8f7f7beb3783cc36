"""The log of a process: the form of its lines, and levels that may change while it runs, here and in Java."""

from ksqlpy.logs.form import JsonLines, TextLines
from ksqlpy.logs.java import keep_java_settings
from ksqlpy.logs.kept import KEPT
from ksqlpy.logs.levels import LEVELS, Levels, parsed
from ksqlpy.logs.start import begin

__all__ = ["KEPT", "LEVELS", "JsonLines", "Levels", "TextLines", "begin", "keep_java_settings", "parsed"]

"""The audit log: where the server writes who has asked for what."""

from __future__ import annotations

from ksqlpy.config.checks import file, integer, one_of
from ksqlpy.config.property import Property

__all__ = ["AUDIT"]

AUDIT = (
    Property(
        "ksqlpy.audit.file",
        "",
        "File of the audit log, a line of JSON for each decision; empty: none. A reader process has one of its own, "
        "with its name behind it.",
        file,
    ),
    Property(
        "ksqlpy.audit.file.bytes",
        "104857600",
        "Size from which on the audit log goes on in a new file; the one before it is kept as FILE.1, and so on.",
        integer(10_000, 2**40),
    ),
    Property(
        "ksqlpy.audit.file.count",
        "10",
        "How many older files of the audit log are kept beside the present one.",
        integer(0, 10_000),
    ),
    Property(
        "ksqlpy.audit.topic",
        "false",
        "Whether the audit log goes into the internal topic _ksqlpy-SERVICEaudit_log, which is made if it is not "
        "there.",
        one_of("true", "false"),
    ),
)

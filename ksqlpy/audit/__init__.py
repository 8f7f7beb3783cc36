"""The audit log: who has asked for what, and what was decided. See docs/security.md."""

from ksqlpy.audit.audit import AUDIT, Audit
from ksqlpy.audit.decision import Decision, Outcome, Touched

__all__ = ["AUDIT", "Audit", "Decision", "Outcome", "Touched"]

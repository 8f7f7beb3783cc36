"""Who somebody is, and what somebody may do, for all parts that ask."""

from ksqlpy.access.asking import ASKS, asking
from ksqlpy.access.grants import BUILT_IN, Grant, Grants, Held, On, allowed, of_built_in, role_name
from ksqlpy.access.principal import EXEMPT, OPEN, Principal
from ksqlpy.access.refusal import MissingRight, refusal, require
from ksqlpy.access.rights import EVERYTHING, GRANTABLE, Kind, Need, Right, Thing

__all__ = [
    "ASKS",
    "BUILT_IN",
    "EVERYTHING",
    "EXEMPT",
    "GRANTABLE",
    "OPEN",
    "Grant",
    "Grants",
    "Held",
    "Kind",
    "MissingRight",
    "Need",
    "On",
    "Principal",
    "Right",
    "Thing",
    "allowed",
    "asking",
    "of_built_in",
    "refusal",
    "require",
    "role_name",
]

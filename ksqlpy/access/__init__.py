"""Who somebody is, for all parts that ask."""

from ksqlpy.access.principal import EXEMPT, OPEN, Principal

__all__ = ["EXEMPT", "OPEN", "Principal"]

"""The properties of the server and of statements: default, check and meaning of each, and the values in force.

Names follow ksqlDB's server configuration; what only ksqlpy has begins with ``ksqlpy.``. A property may be written with
the prefix ``ksql.streams.`` where ksqlDB allows it. Each family of properties is a file; :mod:`~ksqlpy.config.checks`
has the checks that several share, :mod:`~ksqlpy.config.values` reads files and the environment.
"""

from __future__ import annotations

from ksqlpy.config.property import Property
from ksqlpy.config.values import PROPERTIES, Config, warnings_of

__all__ = ["PROPERTIES", "Config", "Property", "warnings_of"]

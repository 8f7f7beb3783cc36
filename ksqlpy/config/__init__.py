"""The properties of the server and of statements: default, check and meaning of each, and the values in force."""

from __future__ import annotations

from ksqlpy.config.values import PROPERTIES, Config, Property, warnings_of

__all__ = ["PROPERTIES", "Config", "Property", "warnings_of"]

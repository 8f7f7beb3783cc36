"""The version of ksqlpy."""

__version__ = "0.2.0"

"""ksqlDB's language and REST API on Apache Spark, in Python."""

from ksqlpy.version import __version__ as __version__

"""ksqlDB's language and REST API on Apache Spark, in Python."""

__version__ = "0.2.0"

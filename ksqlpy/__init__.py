"""ksqlDB's language and REST API on Apache Spark, in Python."""

__version__ = "0.1.0"

"""A runner for query cases in ksqlDB's JSON and SQL test formats: ``python -m tests.qtt DIR``."""

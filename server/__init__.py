"""ksqlDB's REST API over an engine; one file for each family of endpoints."""

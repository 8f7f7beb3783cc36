"""ksqlDB's REST API over an engine; one file for each family of endpoints."""

if __name__ != "ksqlpy.server":  # from the root of a checkout: each of its classes would be there twice
    raise ImportError("this is a part of ksqlpy: import ksqlpy.server")

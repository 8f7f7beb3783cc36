"""Spark: sessions, compiled plans, running queries."""

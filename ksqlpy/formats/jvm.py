"""Readers in the JVM: ``ksqlpy.read.JsonReader`` reads what names JSON, and so on (``spark/jvm/read``)."""

from __future__ import annotations

import json

from ksqlpy.catalog import PartSpec, type_to_json
from ksqlpy.formats import text

__all__ = ["jvm_reader"]


def jvm_reader(reader: str, spec: PartSpec, data: str, **more: str) -> str:
    """Spark SQL text that reads bytes by a reader of the JVM; ``more``: what else it has to know."""
    if spec.bare:
        kind = type_to_json(spec.columns[0].type)
    else:
        kind = {"kind": "STRUCT", "fields": [[c.name, type_to_json(c.type)] for c in spec.columns]}
    described = {"read": reader, "bare": spec.bare, "type": kind, **more}
    return f"ksqlpy.{text.name(json.dumps(described, separators=(',', ':')))}({data})"

"""Readers in the JVM: ``ksqlpy.read.JsonReader`` reads what names JSON, and so on (``spark/jvm/read``)."""

from __future__ import annotations

import json

from ksqlpy.catalog import PartSpec, type_to_json
from ksqlpy.formats import text

__all__ = ["described", "jvm_reader"]


def jvm_reader(reader: str, spec: PartSpec, data: str, **more: str) -> str:
    """Spark SQL text that reads bytes by a reader of the JVM; ``more``: what else it has to know."""
    about = {"read": reader, **described(spec), **more}
    return f"ksqlpy.{text.name(json.dumps(about, separators=(',', ':')))}({data})"


def described(spec: PartSpec) -> dict[str, object]:
    """Of what type the values are, for ``Type.java``, and whether they stand bare."""
    if spec.bare:
        return {"bare": True, "type": type_to_json(spec.columns[0].type)}
    fields = [[c.name, type_to_json(c.type)] for c in spec.columns]
    return {"bare": False, "type": {"kind": "STRUCT", "fields": fields}}

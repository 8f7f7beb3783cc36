"""Functions between text, bytes and numbers.

Source of the semantics: ksqlDB's ENCODE and its functions of BYTES. All are Java: Spark's own either lack an encoding
or end the query where ksqlDB's give null.
"""

from __future__ import annotations

from ksqlpy.functions.signatures import Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import java
from ksqlpy.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

__all__ = ["ENCODINGS"]

_ENCODINGS = "encodings are 'hex', 'utf8', 'ascii' and 'base64'"


def _called(function: str) -> SparkText:
    return lambda a, t: java(function, *a)


def _number(name: str, function: str, kind: SqlType, length: int) -> Scalar:
    return Scalar(
        name,
        "BYTES",
        f"The {kind} in {length} bytes, which stand in the order 'BIG_ENDIAN' (if none is given) or 'LITTLE_ENDIAN'; "
        "null for another length or order.",
        f"{name}(PACKED)",
        (
            Signature((BYTES,), kind, lambda a, t: java(function, *a, "'BIG_ENDIAN'"), names=("bytes",)),
            Signature((BYTES, STRING), kind, _called(function), names=("bytes", "order")),
        ),
    )


ENCODINGS = (
    Scalar(
        "ENCODE",
        "STRING",
        "A text, which is in the first encoding, in the second one; "
        f"{_ENCODINGS}; null if both are the same or the text is not in the first.",
        "ENCODE(DATA, 'base64', 'utf8')",
        (Signature((STRING, STRING, STRING), STRING, _called("Encodings.Encode"), names=("text", "from", "to")),),
    ),
    Scalar(
        "TO_BYTES",
        "BYTES",
        f"The bytes that a text says in an encoding; {_ENCODINGS}.",
        "TO_BYTES(DATA, 'hex')",
        (Signature((STRING, STRING), BYTES, _called("Encodings.ToBytes"), names=("text", "encoding")),),
    ),
    Scalar(
        "FROM_BYTES",
        "BYTES",
        f"Bytes as text in an encoding, base64 in lines of 76 characters; {_ENCODINGS}.",
        "FROM_BYTES(PACKED, 'hex')",
        (Signature((BYTES, STRING), STRING, _called("Encodings.FromBytes"), names=("bytes", "encoding")),),
    ),
    _number("INT_FROM_BYTES", "Encodings.Int", INTEGER, 4),
    _number("BIGINT_FROM_BYTES", "Encodings.Bigint", BIGINT, 8),
    _number("DOUBLE_FROM_BYTES", "Encodings.Double", DOUBLE, 8),
)

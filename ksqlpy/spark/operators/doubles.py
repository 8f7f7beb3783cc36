"""DOUBLEs in keys, as ksqlDB has them.

Kafka Streams keeps and spreads rows by the bytes of their keys, in which -0.0 is not 0.0. Spark takes them for one. So
the bits of a DOUBLE stand for it from where rows are brought together until their state is read; a key without DOUBLEs
stays as it is. A plan of before has no bits: its state is by Spark's rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation
from ksqlpy.formats import FORMATS, JSON, KAFKA, text
from ksqlpy.functions.sparktext import bits, of_bits
from ksqlpy.plan import Plan
from ksqlpy.spark.columns import KeyBits
from ksqlpy.spark.rows import RowShape
from ksqlpy.types import SqlType, holds_double

__all__ = ["kept_bits", "key_of", "key_texts", "signs_zero", "value_of", "without_bits"]


def key_of(plan: Plan, value: str, type_: SqlType, *, signed: bool = True) -> str:
    """Spark text of what rows are brought together by for a value; ``signed``: see :func:`signs_zero`."""
    return bits(value, type_, signed=signed) if plan.by_bits else value


def value_of(plan: Plan, key: str, type_: SqlType) -> str:
    """Spark text of the value of such a key."""
    return of_bits(key, type_) if plan.by_bits else key


def signs_zero(relation: Relation, keys: Sequence[t.Expr]) -> bool:
    """Whether -0.0 outlasts the topic in which ksqlDB writes rows by these keys, to bring them together.

    It has the key format of the source, or JSON if that cannot carry them, and KAFKA if there is none.
    """
    format_ = FORMATS[relation.source.key.format]
    limits = KAFKA.limits if format_.empty else format_.limits
    if len(keys) > (limits.most or len(keys)) or not all(limits.carries(k.type) for k in keys):
        return JSON.signs_zero
    return format_.signs_zero


def without_bits(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns but those of bits, which a state need not keep beside the keys."""
    return tuple(c for c in columns if not isinstance(c, KeyBits))


def kept_bits(plan: Plan, key: str, made: str, type_: SqlType) -> list[str | tuple[str, str]]:
    """The column of a key, whose state has it as ``made``; where that is its bits, these too."""
    if not (plan.by_bits and holds_double(type_)):
        return [key if key == made else (key, made)]
    return [(key, of_bits(made, type_)), (KeyBits.of(key), made)]


def key_texts(plan: Plan, keys: Sequence[t.Expr], texts: Sequence[str], shape: RowShape) -> list[str]:
    """Spark texts of what rows are brought together by for key columns: their bits where rows have them already."""
    return [
        text.name(KeyBits.of(k.name))
        if isinstance(k, t.ColumnRef) and KeyBits.of(k.name) in shape.columns
        else key_of(plan, value, k.type)
        for k, value in zip(keys, texts, strict=True)
    ]

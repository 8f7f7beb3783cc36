"""One more function, as someone would add it: SOUNDEX, by which names that sound alike are found."""

from __future__ import annotations

from ksqlpy.functions.signatures import Scalar, Signature
from ksqlpy.types import STRING

SOUNDEX = Scalar(
    "SOUNDEX",
    "STRING",
    "The Soundex code of an English name; names that sound alike have the same.",
    "SOUNDEX(NAME)",
    (Signature((STRING,), STRING, lambda a, t: f"soundex({a[0]})", names=("text",)),),
)

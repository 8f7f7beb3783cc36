"""Functions of text and bytes.

Source of the semantics: ksqlDB's string functions. Places and lengths count UTF-16 units, as in Java: a character
beyond the basic plane is two of them. Where they matter the function is Java.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ksqlpy.functions.signatures import EVERY, ArgTypes, Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import MOST, java, quoted, text_constant, whole_constant
from ksqlpy.types import BYTES, INTEGER, STRING, ArrayType, MapType

__all__ = ["STRINGS"]

_SPACES = quoted("".join(map(chr, range(0x21))))
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
"""Characters that mean something in a regular expression."""


def _simple(function: str) -> SparkText:
    return lambda a, t: f"{function}({', '.join(a)})"


def _len(a: Sequence[str], t: ArgTypes) -> str:
    return f"shiftright(octet_length(encode({a[0]}, 'UTF-16BE')), 1)"


_LONGEST = str(2**31 - 1)


def _substring(a: Sequence[str], t: ArgTypes) -> str:
    return java("Texts.Part", *a, *[_LONGEST] * (3 - len(a)))


def _substring_of_bytes(a: Sequence[str], t: ArgTypes) -> str:
    value, begin, *length = a
    constant = whole_constant(begin)
    if constant is None or constant < 0:
        # Spark lets a place before the first byte eat up the length; ksqlDB begins with the first byte.
        begin = f"if(({begin}) < 0, greatest({begin}, -length({value})), {begin})"
    return f"substring({', '.join([value, begin, *length])})"


def _joined(separator: str, parts: Sequence[str]) -> str:
    return f"ksqlpy_joined({separator}, array({', '.join(parts)}))"


def _concat_bytes(a: Sequence[str], t: ArgTypes) -> str:
    return f"ksqlpy_bounded(concat({', '.join(f'''coalesce({x}, X'')''' for x in a)}))"


def _concat_ws_bytes(a: Sequence[str], t: ArgTypes) -> str:
    separator, *parts = a
    step = f"case when __part is null then __all when __all is null then __part else concat(__all, {separator}, __part)"
    joined = f"aggregate(array({', '.join(parts)}), cast(null as binary), (__all, __part) -> {step} end)"
    return f"case when ({separator}) is not null then ksqlpy_bounded(coalesce({joined}, X'')) end"


def _replace(a: Sequence[str], t: ArgTypes) -> str:
    return f"ksqlpy_replace({', '.join(a)})"


def _split(a: Sequence[str], t: ArgTypes) -> str:
    text, delimiter = a
    constant = text_constant(delimiter)
    if constant:
        literal = quoted(_SPECIAL.sub(r"\\\g<0>", constant))
        return f"split({text}, {literal}, -1)"
    return java("Texts.Split", *a)


def _instr(a: Sequence[str], t: ArgTypes) -> str:
    return f"coalesce({java('Texts.Find', *a, *['1'] * (4 - len(a)))}, 0)"


def _uuid_of_bytes(a: Sequence[str], t: ArgTypes) -> str:
    groups = "'^(.{8})(.{4})(.{4})(.{4})(.{12})$', '$1-$2-$3-$4-$5'"
    return f"case when octet_length({a[0]}) = 16 then regexp_replace(lower(hex({a[0]})), {groups}) end"


def _pad(side: str) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        value, length, pad = a
        if t[0] == STRING:
            return java("Texts.PadLeft" if side == "l" else "Texts.PadRight", *a)
        fits = f"({length}) between 0 and {MOST} and length({pad}) > 0"
        return f"case when {fits} then {side}pad({value}, {length}, {pad}) end"

    return text


def _text(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "STRING", help, example, signatures)


_PLACES = "places count UTF-16 units"

STRINGS = (
    _text("UCASE", "The text in upper case.", "UCASE(NAME)", Signature((STRING,), STRING, _simple("upper"))),
    _text("LCASE", "The text in lower case.", "LCASE(NAME)", Signature((STRING,), STRING, _simple("lower"))),
    _text(
        "TRIM",
        "The text without blanks and control characters at both ends.",
        "TRIM(NAME)",
        Signature((STRING,), STRING, lambda a, t: f"btrim({a[0]}, {_SPACES})"),
    ),
    _text(
        "LEN",
        "The number of UTF-16 units of a text, or of bytes.",
        "LEN(NAME)",
        Signature((STRING,), INTEGER, _len),
        Signature((BYTES,), INTEGER, _simple("octet_length")),
    ),
    _text(
        "INITCAP",
        "Every word with a capital and the rest in lower case; words end at whitespace.",
        "INITCAP(NAME)",
        Signature((STRING,), STRING, lambda a, t: java("Texts.Capitals", *a)),
    ),
    _text(
        "SUBSTRING",
        f"The part from a place on, at most so long; the first place is 1, -1 is the last; {_PLACES}.",
        "SUBSTRING(NAME, 1, 3)",
        *(
            Signature((source, INTEGER, *rest), source, text)
            for source, text in ((STRING, _substring), (BYTES, _substring_of_bytes))
            for rest in ((), (INTEGER,))
        ),
    ),
    _text(
        "CONCAT",
        "The arguments one after the other; nulls are left out.",
        "CONCAT(FIRST, ' ', LAST)",
        Signature((STRING, STRING), STRING, lambda a, t: _joined("''", a), variadic=True, nulls=EVERY),
        Signature((BYTES, BYTES), BYTES, _concat_bytes, variadic=True, nulls=EVERY),
    ),
    _text(
        "CONCAT_WS",
        "The arguments after the first with the first between them; nulls are left out.",
        "CONCAT_WS(', ', LAST, FIRST)",
        Signature((STRING, STRING), STRING, lambda a, t: _joined(a[0], a[1:]), variadic=True, nulls=frozenset({1})),
        Signature((BYTES, BYTES), BYTES, _concat_ws_bytes, variadic=True, nulls=frozenset({1})),
    ),
    _text(
        "REPLACE",
        "The text with every occurrence of the second argument replaced by the third.",
        "REPLACE(NAME, '-', ' ')",
        Signature((STRING, STRING, STRING), STRING, _replace),
    ),
    _text(
        "SPLIT",
        "The parts between the delimiters, empty ones included; an empty delimiter splits into UTF-16 units or bytes.",
        "SPLIT(TAGS, ',')",
        Signature((STRING, STRING), ArrayType(STRING), _split),
        Signature((BYTES, BYTES), ArrayType(BYTES), lambda a, t: java("Encodings.Split", *a)),
    ),
    _text(
        "INSTR",
        "Where the second text occurs in the first, counted from 1; 0 if it does not or an argument is null. A third "
        "argument says where to begin, from the end and backwards if negative; a fourth which occurrence is meant; "
        f"{_PLACES}.",
        "INSTR(NAME, 'a', -1, 2)",
        *(
            Signature(
                (STRING, STRING, *rest), INTEGER, _instr, nulls=EVERY, names=("text", "part", "place", "occurrence")
            )
            for rest in ((), (INTEGER,), (INTEGER, INTEGER))
        ),
    ),
    _text(
        "CHR",
        "The character with a code, or the one that is written as a Java escape; null if there is none.",
        "CHR(9)",
        Signature((INTEGER,), STRING, lambda a, t: java("Texts.CharacterOfCode", *a), names=("code",)),
        Signature((STRING,), STRING, lambda a, t: java("Texts.CharacterOfEscape", *a), names=("escape",)),
    ),
    _text(
        "ELT",
        "The text with this number among the other arguments, the first being 1; null if there is none.",
        "ELT(LEVEL, 'low', 'middle', 'high')",
        Signature(
            (INTEGER, STRING),
            STRING,
            lambda a, t: f"get(array({', '.join(a[1:])}), ({a[0]}) - 1)",
            variadic=True,
            nulls=frozenset({1}),
            names=("number", "text"),
        ),
    ),
    _text(
        "FIELD",
        "The number of the first text among the others, from 1; 0 if it is not there or null.",
        "FIELD(LEVEL, 'low', 'middle', 'high')",
        Signature(
            (STRING, STRING),
            INTEGER,
            lambda a, t: f"cast(coalesce(array_position(array({', '.join(a[1:])}), {a[0]}), 0) as int)",
            variadic=True,
            nulls=EVERY,
            names=("text", "among"),
        ),
    ),
    _text(
        "MD5",
        "The MD5 digest of the text's UTF-8 bytes, in hexadecimal digits.",
        "MD5(EMAIL)",
        Signature((STRING,), STRING, _simple("md5"), names=("text",)),
    ),
    _text(
        "SPLIT_TO_MAP",
        "The map that a text says, with the delimiter of entries and that between key and value; entries without the "
        "second are left out, the last of equal keys counts; null if a delimiter is empty or both are the same.",
        "SPLIT_TO_MAP('a=1;b=2', ';', '=')",
        Signature(
            (STRING, STRING, STRING),
            MapType(STRING, STRING),
            lambda a, t: java("Texts.SplitToMap", *a),
            names=("text", "between entries", "between key and value"),
        ),
    ),
    _text(
        "UUID",
        "A new random UUID; of 16 bytes, the UUID that they are.",
        "UUID()",
        Signature((), STRING, lambda a, t: "uuid()"),
        Signature((BYTES,), STRING, _uuid_of_bytes, names=("bytes",)),
    ),
    *(
        _text(
            f"{side[0]}PAD",
            f"The value padded on the {side.lower()} to a length, or cut to it; an empty padding or negative length "
            f"gives null; {_PLACES}.",
            f"{side[0]}PAD(CODE, 8, '0')",
            *(Signature((x, INTEGER, x), x, _pad(side[0].lower())) for x in (STRING, BYTES)),
        )
        for side in ("LEFT", "RIGHT")
    ),
)

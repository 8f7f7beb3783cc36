"""Functions of text and bytes.

Source of the semantics: ksqlDB's string functions. Positions and lengths, LEN aside, count characters; ksqlDB counts
UTF-16 units, which differ beyond the basic plane only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ksqlpy.functions.registry import EVERY, ArgTypes, Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import java, quoted, text_constant, whole_constant
from ksqlpy.types import BYTES, INTEGER, STRING, ArrayType, MapType

__all__ = ["STRINGS"]

_SPACES = "".join(f"\\u{code:04x}" for code in range(0x21))
_WORD = quoted(r"\S+\s*")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
"""Characters that mean something in a regular expression."""
_BEGIN, _END, _END_INSIDE = quoted(r"\Q"), quoted(r"\E"), quoted(r"\E\\E\Q")
"""A quotation in a regular expression, and what stands for its end inside of one."""
_MEANING, _NO_MEANING = quoted(r"([\\$])"), quoted(r"\\$1")
"""What means something in the new text of a regular replacement, and how it loses that."""


def _simple(function: str) -> SparkText:
    return lambda a, t: f"{function}({', '.join(a)})"


def _len(a: Sequence[str], t: ArgTypes) -> str:
    return f"shiftright(octet_length(encode({a[0]}, 'UTF-16BE')), 1)"


def _initcap(a: Sequence[str], t: ArgTypes) -> str:
    # Spark's own initcap begins a word after a blank only. Whitespace in front of the first word goes, as in ksqlDB.
    words = f"regexp_extract_all(lower({a[0]}), {_WORD}, 0)"
    return f"array_join(transform({words}, __word -> concat(upper(left(__word, 1)), substring(__word, 2))), '')"


def _substring(a: Sequence[str], t: ArgTypes) -> str:
    text, begin, *length = a
    constant = whole_constant(begin)
    if constant is None or constant < 0:
        # Spark lets a place before the first character eat up the length; ksqlDB begins with the first character.
        begin = f"if(({begin}) < 0, greatest({begin}, -length({text})), {begin})"
    return f"substring({', '.join([text, begin, *length])})"


def _concat_bytes(a: Sequence[str], t: ArgTypes) -> str:
    return f"concat({', '.join(f'''coalesce({x}, X'')''' for x in a)})"


def _concat_ws_bytes(a: Sequence[str], t: ArgTypes) -> str:
    separator, *parts = a
    step = f"case when __part is null then __all when __all is null then __part else concat(__all, {separator}, __part)"
    joined = f"aggregate(array({', '.join(parts)}), cast(null as binary), (__all, __part) -> {step} end)"
    return f"case when ({separator}) is not null then coalesce({joined}, X'') end"


def _replace(a: Sequence[str], t: ArgTypes) -> str:
    text, old, new = a
    plain = f"replace({text}, {old}, {new})"
    if text_constant(old):
        return plain
    # Java puts the new text around every character when the old one is empty; Spark would leave the text alone.
    literal = f"regexp_replace({new}, {_MEANING}, {_NO_MEANING})"
    return f"case when ({old}) = '' then regexp_replace({text}, '', {literal}) else {plain} end"


def _split(a: Sequence[str], t: ArgTypes) -> str:
    text, delimiter = a
    constant = text_constant(delimiter)
    if constant is not None:
        literal = quoted(_SPECIAL.sub(r"\\\g<0>", constant))
        return f"split({text}, {literal}, -1)"
    parts = [_BEGIN, f"replace({delimiter}, {_END}, {_END_INSIDE})", _END]
    # An empty pattern, unlike an empty quotation, is known to Spark as "split every character".
    return f"split({text}, case when ({delimiter}) = '' then '' else concat({', '.join(parts)}) end, -1)"


def _instr(a: Sequence[str], t: ArgTypes) -> str:
    if len(a) == 2:
        return f"coalesce(instr({a[0]}, {a[1]}), 0)"
    return f"coalesce({java('Texts.Find', *a, *['1'] * (4 - len(a)))}, 0)"


def _uuid_of_bytes(a: Sequence[str], t: ArgTypes) -> str:
    groups = "'^(.{8})(.{4})(.{4})(.{4})(.{12})$', '$1-$2-$3-$4-$5'"
    return f"case when octet_length({a[0]}) = 16 then regexp_replace(lower(hex({a[0]})), {groups}) end"


def _pad(side: str) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        value, length, pad = a
        return f"case when ({length}) >= 0 and length({pad}) > 0 then {side}pad({value}, {length}, {pad}) end"

    return text


def _text(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "STRING", help, example, signatures)


_PLACES = "places count characters, not UTF-16 units"

STRINGS = (
    _text("UCASE", "The text in upper case.", "UCASE(NAME)", Signature((STRING,), STRING, _simple("upper"))),
    _text("LCASE", "The text in lower case.", "LCASE(NAME)", Signature((STRING,), STRING, _simple("lower"))),
    _text(
        "TRIM",
        "The text without blanks and control characters at both ends.",
        "TRIM(NAME)",
        Signature((STRING,), STRING, lambda a, t: f"trim(BOTH '{_SPACES}' FROM {a[0]})"),
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
        Signature((STRING,), STRING, _initcap),
    ),
    _text(
        "SUBSTRING",
        f"The part from a place on, at most so long; the first place is 1, -1 is the last; {_PLACES}.",
        "SUBSTRING(NAME, 1, 3)",
        *(
            Signature((source, INTEGER, *rest), source, _substring)
            for source in (STRING, BYTES)
            for rest in ((), (INTEGER,))
        ),
    ),
    _text(
        "CONCAT",
        "The arguments one after the other; nulls are left out.",
        "CONCAT(FIRST, ' ', LAST)",
        Signature((STRING, STRING), STRING, lambda a, t: f"concat_ws('', {', '.join(a)})", variadic=True, nulls=EVERY),
        Signature((BYTES, BYTES), BYTES, _concat_bytes, variadic=True, nulls=EVERY),
    ),
    _text(
        "CONCAT_WS",
        "The arguments after the first with the first between them; nulls are left out.",
        "CONCAT_WS(', ', LAST, FIRST)",
        Signature((STRING, STRING), STRING, _simple("concat_ws"), variadic=True, nulls=frozenset({1})),
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
        "The parts between the delimiters, empty ones included; an empty delimiter splits into characters or bytes.",
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

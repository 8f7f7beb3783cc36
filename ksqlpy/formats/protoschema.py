"""Protobuf's schemas of columns, and the types of a schema, as Kafka Connect's ProtobufConverter has them.

A record is the message ``ConnectDefault1``; each STRUCT in it is a message within, ``ConnectDefault2`` and so on. The
columns are its fields 1, 2, … Protobuf has no null for numbers, texts and bytes, unless they are ``optional`` or in a
wrapper: ``KEY_``/``VALUE_PROTOBUF_NULLABLE_REPRESENTATION``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksqlpy.catalog import PartSpec
from ksqlpy.formats.bounds import bounded, one_more
from ksqlpy.formats.subjects import Unsupported
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    Scalar,
    SqlType,
    StructType,
)

__all__ = [
    "DECIMAL",
    "MESSAGES",
    "WRAPPERS",
    "is_map",
    "is_wrapper",
    "member_of",
    "nested",
    "root_of",
    "schema_of",
    "type_of",
    "union_name",
    "unions",
]

ROOT = "ConnectDefault"
_MOST_DIGITS = 38
_MOST_DECIMALS = 64  # of a decimal whose schema does not say how many digits it has

_PLAIN: Mapping[SqlType, str] = {
    INTEGER: "int32", BIGINT: "int64", DOUBLE: "double", BOOLEAN: "bool", STRING: "string", BYTES: "bytes",
}  # fmt: skip
MESSAGES: Mapping[SqlType, str] = {
    DATE: "google.type.Date", TIME: "google.type.TimeOfDay", TIMESTAMP: "google.protobuf.Timestamp",
}  # fmt: skip
"""The messages that stand for scalars, by type; a decimal has one of its own."""

DECIMAL = "confluent.type.Decimal"

WRAPPERS: Mapping[SqlType, str] = {
    INTEGER: "Int32Value", BIGINT: "Int64Value", DOUBLE: "DoubleValue", BOOLEAN: "BoolValue", STRING: "StringValue",
    BYTES: "BytesValue",
}  # fmt: skip
"""The messages of google.protobuf that hold a scalar, or nothing for null."""

_WRAPPED = {f"google.protobuf.{name}": type_ for type_, name in WRAPPERS.items()} | {
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.UInt64Value": BIGINT,
    "google.protobuf.FloatValue": DOUBLE,
}
_IMPORTS = {
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    DECIMAL: "confluent/type/decimal.proto",
}


# ---------------------------------------------------------------- columns to a schema


def nested(type_: SqlType) -> SqlType | None:
    """An ARRAY or MAP in the type that stands in another one, which Protobuf does not have; None if there is none."""
    match type_:
        case ArrayType(item) | MapType(_, item):
            return item if isinstance(item, ArrayType | MapType) else nested(item)
        case StructType(fields):
            return next((found for _, f in fields if (found := nested(f)) is not None), None)
    return None


def root_of(spec: PartSpec) -> str:
    """The full name of the message of the columns."""
    return spec.schema_name or f"{ROOT}1"


def schema_of(spec: PartSpec, *, entries: bool = False) -> str:
    """The schema of the records of the columns, as the text of a .proto file.

    ``entries``: a MAP is the repeated message that it is in the bytes, as Kafka Connect prints it.
    """
    return _Printer(spec.nulls, entries).printed(root_of(spec), [(c.name, c.type) for c in spec.columns])


class _Printer:
    def __init__(self, nulls: str, entries: bool) -> None:
        self._nulls = nulls
        self._entries = entries
        self._imports: set[str] = set()
        self._messages = 0

    def printed(self, name: str, fields: Sequence[tuple[str, SqlType]]) -> str:
        package, _, message = name.rpartition(".")
        self._messages += name == f"{ROOT}1"
        lines = list(self._message(message, fields, ""))
        head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
        imports = [f'import "{each}";' for each in sorted(self._imports)]
        return "\n".join([*head, *imports, *([""] if imports else []), *lines, ""])

    def _message(self, name: str, fields: Sequence[tuple[str, SqlType]], indent: str) -> Iterator[str]:
        yield f"{indent}message {name} {{"
        within: list[tuple[str, StructType]] = []
        behind: list[str] = []
        if len({_json_name(n) for n, _ in fields}) < len(fields):
            yield f"{indent}  option deprecated_legacy_json_field_conflicts = true;"  # no JSON is made of it
        for number, (field, type_) in enumerate(fields, 1):
            options: list[str] = []
            declared = self._declared(type_, within, options)
            shown = f" [{', '.join(options)}]" if options else ""
            yield f"{indent}  {declared} {field} = {number}{shown};"
            if self._entries:  # Kafka Connect counts the messages of a field ahead of those of the next one
                behind += self._inner(within, indent)
                within.clear()
        yield from behind or self._inner(within, indent)
        yield f"{indent}}}"

    def _inner(self, within: Sequence[tuple[str, StructType]], indent: str) -> Iterator[str]:
        for name, struct in within:
            yield ""
            yield from self._message(name, struct.fields, f"{indent}  ")

    def _declared(self, type_: SqlType, within: list[tuple[str, StructType]], options: list[str]) -> str:
        match type_:
            case ArrayType(item):
                return f"repeated {self._single(item, within, options)}"
            case MapType(key, item) if self._entries:
                self._messages += 1
                within.append((f"{ROOT}{self._messages}Entry", StructType((("key", key), ("value", item)))))
                return f"repeated {within[-1][0]}"
            case MapType(_, item):
                return f"map<string, {self._single(item, within, options)}>"
        if type_ in _PLAIN and self._nulls == "WRAPPER":
            self._imports.add("google/protobuf/wrappers.proto")
            return f"google.protobuf.{WRAPPERS[type_]}"
        return ("optional " if type_ in _PLAIN and self._nulls else "") + self._single(type_, within, options)

    def _single(self, type_: SqlType, within: list[tuple[str, StructType]], options: list[str]) -> str:
        if isinstance(type_, StructType):
            self._messages += 1
            within.append((f"{ROOT}{self._messages}", type_))
            return within[-1][0]
        if isinstance(type_, DecimalType):
            self._imports.add("confluent/meta.proto")
            params = {"precision": type_.precision, "scale": type_.scale}
            shown = ", ".join(f'{{ key: "{k}", value: "{v}" }}' for k, v in params.items())
            options.append(f"(confluent.field_meta) = {{ params: [ {shown} ] }}")
            name = DECIMAL
        elif type_ in MESSAGES:
            name = MESSAGES[type_]
        else:
            return _PLAIN[type_]
        self._imports.add(_IMPORTS[name])
        return name


def _json_name(field: str) -> str:
    """The name that Protobuf gives a field in JSON, which no other of its message may have."""
    first, *others = field.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


# ---------------------------------------------------------------- a schema to a type


@bounded
def type_of(message: Any) -> StructType:
    """The type of the records of a message, with names as it has them; raises Unsupported.

    ``message``: a descriptor of google.protobuf. google.protobuf.StringValue and its like are scalars.
    """
    return _struct(message, (message.full_name,))


def union_name(union: Any) -> str:
    """The name of the field that holds what a ``oneof`` holds (Kafka Connect: its name and its number)."""
    return f"{union.name}_{union.index}"


def is_map(field: Any) -> bool:
    """Whether a repeated field is a map."""
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def is_wrapper(message: Any) -> bool:
    """Whether a message is one of Google's that hold a scalar."""
    return message.full_name in _WRAPPED


def _struct(message: Any, around: tuple[str, ...]) -> StructType:
    fields: dict[str, SqlType] = {}

    def put(name: str, type_: SqlType) -> None:
        if name in fields:
            raise Unsupported(f"two fields are {name}")
        fields[name] = type_

    for union in unions(message):
        put(union_name(union), StructType(tuple((f.name, _type(f, around)) for f in union.fields)))
    for field in message.fields:
        if member_of(field) is None:
            put(field.name, _type(field, around))
    if not fields:
        raise Unsupported(f"message {message.full_name} has no fields")
    return StructType(tuple(fields.items()))


def unions(message: Any) -> list[Any]:
    """The ``oneof``s of a message, without those that Protobuf makes of ``optional`` fields."""
    return [u for u in message.oneofs if not (len(u.fields) == 1 and u.name == f"_{u.fields[0].name}")]


def member_of(field: Any) -> Any:
    """The ``oneof`` that a field belongs to, or None."""
    union = field.containing_oneof
    return None if union is None or all(union.name != u.name for u in unions(field.containing_type)) else union


def _type(field: Any, around: tuple[str, ...]) -> SqlType:
    one_more()
    if is_map(field):
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        if _single(key, around) != STRING:
            raise Unsupported(f"the keys of {field.name} are no strings")
        return MapType(STRING, _single(value, around))
    single = _single(field, around)
    return ArrayType(single) if field.is_repeated else single


def _single(field: Any, around: tuple[str, ...]) -> SqlType:
    message = field.message_type
    if message is None:
        if field.enum_type is not None:
            return STRING
        return _SCALARS[field.type]
    name = message.full_name
    if name == DECIMAL:
        return _decimal(field)
    for type_, known in MESSAGES.items():
        if name == known:
            return type_
    if name in _WRAPPED:
        return _WRAPPED[name]
    if name in around:
        raise Unsupported(f"message {name} holds itself")
    return _struct(message, (*around, name))


def _decimal(field: Any) -> DecimalType:
    params = _params(field)
    precision, scale = int(params.get("precision", _MOST_DECIMALS)), int(params.get("scale", 0))
    if precision > _MOST_DIGITS:
        raise Unsupported(f"it has a decimal of {precision} digits, the most are {_MOST_DIGITS}")
    return DecimalType(precision, scale)


def _params(field: Any) -> dict[str, str]:
    """The parameters that a schema gives a field (confluent/meta.proto)."""
    from google.protobuf import message_factory

    try:
        kind = field.file.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
    except KeyError:
        return {}
    # Options are of the library's own pool, which does not know what the schema's imports add to them.
    options = message_factory.GetMessageClass(kind).FromString(field.GetOptions().SerializeToString())
    for option, value in options.ListFields():
        if option.full_name == "confluent.field_meta":
            return dict(value.params)
    return {}


_SCALARS: Mapping[int, Scalar] = {
    1: DOUBLE, 2: DOUBLE, 3: BIGINT, 4: BIGINT, 5: INTEGER, 6: BIGINT, 7: BIGINT, 8: BOOLEAN, 9: STRING, 12: BYTES,
    13: BIGINT, 15: INTEGER, 16: BIGINT, 17: INTEGER, 18: BIGINT,
}  # fmt: skip
"""By the number that Protobuf gives a type (FieldDescriptorProto.Type)."""

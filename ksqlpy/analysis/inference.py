"""CREATE that names no format or lists no columns: both come from the schema registry, or from records of the topic.

What a statement says counts, and what ksqlDB takes from it: a key format that is not named is KAFKA, and columns are
inferred from the schema registry for formats that have schemas there. Only what is missing then is looked for: first
the subjects ``TOPIC-key`` and ``TOPIC-value`` of the schema registry are asked, then a sample of the topic's records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ksqlpy.analysis.properties import SourceProperties
from ksqlpy.catalog import Column
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import DELIMITED, FORMATS, JSON, KAFKA, NONE, of_kind
from ksqlpy.formats.contract import DECLARED, RECORDS, Format, Which
from ksqlpy.formats.envelopes import AFTER, is_envelope, keyed
from ksqlpy.formats.events import key_of_events, row_of_events
from ksqlpy.formats.guess import Guess
from ksqlpy.registry import SchemaRegistry
from ksqlpy.types import STRING, StructType

__all__ = ["Inferred", "Sample", "Samples", "infer"]

_HINT = "The values look like change events of Debezium: VALUE_ENVELOPE = 'DEBEZIUM' reads them as a table"
_NO_EVENTS = "leave out VALUE_ENVELOPE, or list the columns"


@dataclass(frozen=True)
class Sample:
    """Keys and values of some records of a topic."""

    topic: str
    records: Sequence[tuple[bytes | None, bytes | None]]

    def of(self, which: Which) -> list[bytes]:
        """The keys or values that are not null."""
        side = 0 if which == "key" else 1
        return [data for record in self.records if (data := record[side]) is not None]


class Samples(Protocol):
    """Where samples come from: a seam, since a statement may be checked where there is no Kafka."""

    def of(self, topic: str, *, committed: bool) -> Sample:
        """Some records of the topic; for one statement always the same. ``committed``: of those that are.

        Raises AnalysisProblem ``missing-topic``, and EngineProblem where the brokers do not answer.
        """
        ...


@dataclass(frozen=True)
class Inferred:
    """Formats and columns of a source, as far as its statement does not list them.

    ``value_format``: empty where it is not known, since there is no sample to be had. ``told``: what was inferred that
    ksqlDB would not have inferred, a sentence each, without its full stop.
    """

    key_format: str
    value_format: str
    columns: tuple[Column, ...]
    told: tuple[str, ...] = ()


def infer(
    kind: str,
    listed: Sequence[Column],
    properties: SourceProperties,
    config: Config,
    registry: Callable[[], SchemaRegistry | None],
    samples: Samples | None,
) -> Inferred:
    """What is missing in a CREATE that lists these columns; ``samples``: None where there are no records to look at.

    Raises AnalysisProblem ``not-inferred``, ``missing-topic``, and what formats have against a schema; EngineProblem
    where the brokers or the schema registry do not answer.
    """
    keys = [c for c in listed if c.key]
    values = [c for c in listed if not c.key and c.header is None]
    default = config.get("ksql.persistence.default.format.key")
    key = properties.key_format or (default if config.is_set("ksql.persistence.default.format.key") else None)
    value = properties.value_format or config.get("ksql.persistence.default.format.value") or None
    if properties.topic is None:
        return Inferred(key or default, value or "", ())
    side = _Side(properties.topic, properties, registry, samples, config.committed)
    # What ksqlDB knows means the same here: a side that is not listed has columns of a schema, or none.
    known = value is not None and (bool(listed) or FORMATS[value].schemas is not DECLARED)
    if values:
        of_value = _Found(value) if value is not None else side.guessed("value", values)
    elif known:
        of_value = side.registered("value", FORMATS[value or ""])
    else:
        of_value = side.inferred("value", value)
    if keys:
        # Debezium writes keys as it writes values.
        named = key or ((of_value.format if properties.envelope else default) if value is not None else None)
        of_key = _Found(named) if named is not None else side.guessed("key", keys)
    elif values or (known and kind == "STREAM"):
        of_key = side.registered("key", FORMATS[key or default])
    else:
        of_key = side.inferred("key", key, may_lack=kind == "STREAM")
    taken = {c.name for c in (*keys, *of_key.columns)} if properties.envelope else set()
    of_value = replace(of_value, columns=tuple(c for c in of_value.columns if c.name not in taken))
    columns = (*(replace(c, key=True) for c in of_key.columns), *of_value.columns)
    if not keys and not of_key.columns:
        of_key = replace(of_key, format=properties.key_format or NONE.name)
    sides: tuple[tuple[Which, _Found], ...] = (("key", of_key), ("value", of_value))
    told = [text for which, found in sides if (text := found.told(which))]
    if not properties.envelope and is_envelope(of_value.columns):
        told.append(_HINT)
    return Inferred(of_key.format, of_value.format, columns, tuple(told))


@dataclass(frozen=True)
class _Found:
    """``place``: where it was found, empty for what ksqlDB would have found, too."""

    format: str
    columns: tuple[Column, ...] = ()
    place: str = ""

    def told(self, which: Which) -> str:
        """What was found as a sentence without its full stop, empty for nothing to tell."""
        if not self.place:
            return ""
        if self.format == NONE.name:
            return f"Inferred from {self.place}: no {which}"
        shown = ", ".join((self.format, *(f"`{c.name}` {c.type}" for c in self.columns)))
        return f"Inferred from {self.place}: {which} {shown}"


@dataclass(frozen=True)
class _Side:
    """Looks for the format and the columns of the keys or the values of a topic."""

    topic: str
    properties: SourceProperties
    registry: Callable[[], SchemaRegistry | None]
    samples: Samples | None
    committed: bool

    def registered(self, which: Which, format_: Format) -> _Found:
        """The columns that the schema registry has for a format with schemas there; none for others."""
        given = self.properties.key_schema if which == "key" else self.properties.value_schema
        wrapped = self._wrapped(which, format_)
        columns = format_.schemas.infer(self.topic, which, self.registry(), given, wrapped=wrapped) or ()
        if columns and which == "value" and self.properties.envelope:
            row = next((c.type for c in columns if c.name == AFTER), None)
            if not isinstance(row, StructType):
                raise _not_inferred(f"the schema of subject {self.topic}-value is none of change events", _NO_EVENTS)
            columns = tuple(Column(n, t) for n, t in row.fields)
        return _Found(format_.name, columns)

    def inferred(self, which: Which, named: str | None, *, may_lack: bool = False) -> _Found:
        """The columns, and the format if none is named. ``may_lack``: records may have no keys."""
        if named is None:
            return self.guessed(which, (), may_lack=may_lack)
        format_ = FORMATS[named]
        if format_.schemas is not DECLARED:
            return self.registered(which, format_)
        if format_.empty or self.samples is None:
            return _Found(named)
        records = self._records(which)
        if not records:
            return self._none(which, may_lack=may_lack)
        return _Found(named, self._columns(which, format_, records), _of(len(records), self.topic))

    def guessed(self, which: Which, listed: Sequence[Column], *, may_lack: bool = False) -> _Found:
        """The format and, if they are not listed, the columns."""
        registry = self.registry()
        subject = f"{self.topic}-{which}"
        schema = registry.latest(subject) if registry is not None else None
        format_ = of_kind(schema.kind) if schema is not None else None
        if format_ is not None:
            columns = () if listed else self.registered(which, format_).columns
            return _Found(format_.name, columns, f"subject {subject} of the schema registry")
        if self.samples is None:
            return _Found("")
        records = self._records(which)
        if not records:
            return self._none(which, may_lack=may_lack)
        guess = Guess(registry, keys=which == "key")
        for data in records:
            guess.show(data)
        format_ = self._format(which, guess, records, listed)
        columns = ()
        if not listed:
            has_schemas = format_.schemas is not DECLARED
            columns = self.registered(which, format_).columns if has_schemas else self._columns(which, format_, records)
        return _Found(format_.name, columns, _of(len(records), self.topic))

    def _wrapped(self, which: Which, format_: Format) -> bool:
        if which == "key" and self.properties.envelope:
            return keyed(format_.name)
        return format_.limits.wraps == RECORDS or (which == "value" and self.properties.wrapped is not False)

    # ------------------------------------------------------------ samples

    def _records(self, which: Which) -> list[bytes]:
        assert self.samples is not None
        found = self.samples.of(self.topic, committed=self.committed).of(which)
        window = self.properties.window
        if which == "value" or window is None:
            return found
        return [data[: -window.key_bytes] for data in found if len(data) >= window.key_bytes]

    def _none(self, which: Which, *, may_lack: bool) -> _Found:
        """Of a side that all records lack."""
        assert self.samples is not None
        count = len(self.samples.of(self.topic, committed=self.committed).records)
        if count and may_lack:
            return _Found(NONE.name, (), _of(count, self.topic))
        if not count:
            raise _not_inferred(f"topic {self.topic} has no records from which format and columns could be inferred")
        raise _not_inferred(
            f"none of {_records(count)} of topic {self.topic} has a {which}",
            "a table needs keys; CREATE STREAM reads records without them" if which == "key" else None,
        )

    def _format(self, which: Which, guess: Guess, records: Sequence[bytes], listed: Sequence[Column]) -> Format:
        """The format of the likeliest guess, for the columns that are listed."""
        # An object of JSON among other texts is a text, too, but no column would be made of it.
        if not guess.names or (dict(guess.counts).get(JSON.name) and guess.names[0] != JSON.name):
            most, others = guess.counts[0], guess.counts[1:]
            of_others = ", ".join(f"{n} {name}" for name, n in others)
            raise _not_inferred(
                f"the {which}s of topic {self.topic} are of several formats: {most[1]} of {_records(len(records))}"
                f" {most[0]}, {of_others}",
                f"name the one that counts with {which.upper()}_FORMAT; records of others become dead letters",
            )
        name = guess.names[0]
        if name in FORMATS and name != DELIMITED.name:
            return FORMATS[name]
        if name.startswith(("TIME WINDOW", "SESSION")):
            raise _not_inferred(
                f"the keys of topic {self.topic} end with the bounds of windows",
                "name WINDOW_TYPE, and WINDOW_SIZE for windows of one size",
            )
        if name in (DELIMITED.name, "KAFKA_STRING"):
            return self._text(which, name, records, listed)
        if name == "KAFKA_BYTES" and which == "value":
            raise _not_inferred(
                f"the values of topic {self.topic} are of no format that their bytes tell",
                "name VALUE_FORMAT and list the columns",
            )
        return KAFKA

    def _text(self, which: Which, name: str, records: Sequence[bytes], listed: Sequence[Column]) -> Format:
        """The format of texts that are no JSON objects."""
        if JSON.sampled(records) == STRING and all(r[:1] == b'"' == r[-1:] for r in records):
            return JSON
        given = self.properties.key_delimiter if which == "key" else self.properties.value_delimiter
        if given is not None:
            return DELIMITED
        if [c.type for c in listed] == [STRING]:
            return KAFKA
        if listed:
            if len(listed) == 1 or name == DELIMITED.name:
                return DELIMITED
            side = which.upper()
            raise _not_inferred(
                f"the {which}s of topic {self.topic} are texts without commas, and {len(listed)} columns are listed",
                f"name the format, or with {side}_DELIMITER what stands between the fields",
            )
        if name == DELIMITED.name and which == "value":
            return DELIMITED
        return KAFKA

    def _columns(self, which: Which, format_: Format, records: Sequence[bytes]) -> tuple[Column, ...]:
        """The columns that records of a format without schemas have."""
        if self.properties.envelope and format_.name == JSON.name:
            row = row_of_events(records) if which == "value" else key_of_events(records)
            if row is None:
                what = "change events with a row" if which == "value" else "records"
                raise _not_inferred(f"the {which}s of topic {self.topic} are no {what} in JSON", _NO_EVENTS)
            return tuple(Column(n, t) for n, t in row.fields)
        type_ = format_.sampled(records)
        if type_ is None:
            if format_.name == JSON.name:
                raise _not_inferred(f"none of {_records(len(records))} of topic {self.topic} has a {which} in JSON")
            raise _not_inferred(
                f"the {which}s of topic {self.topic} are {format_.name}, whose fields have no names",
                "list the columns, in the order of the fields",
            )
        if not self._wrapped(which, format_) or format_.limits.most == 1:
            return (Column("ROWKEY" if which == "key" else "ROWVAL", type_),)
        if isinstance(type_, StructType):
            return tuple(Column(n, t) for n, t in type_.fields)
        raise _not_inferred(
            f"the {which}s of topic {self.topic} are no JSON objects, but {type_}",
            "list the columns, or set WRAP_SINGLE_VALUE = false to read it as one column",
        )


def _not_inferred(message: str, hint: str | None = None) -> AnalysisProblem:
    return AnalysisProblem("not-inferred", message, hint=hint or "name VALUE_FORMAT and list the columns")


def _records(count: int) -> str:
    return f"{count:,} record{'s' * (count != 1)}"


def _of(count: int, topic: str) -> str:
    return f"{_records(count)} of topic {topic}"

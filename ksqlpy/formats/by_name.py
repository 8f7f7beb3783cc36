"""The formats by name. A new one is a file of this folder and its line in ``FORMATS``, or is added by :meth:`add`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ksqlpy.formats.avro import AVRO
from ksqlpy.formats.contract import Format
from ksqlpy.formats.delimited import DELIMITED
from ksqlpy.formats.json import JSON
from ksqlpy.formats.jsonsr import JSON_SR
from ksqlpy.formats.kafka import KAFKA
from ksqlpy.formats.none import NONE
from ksqlpy.formats.protobuf import PROTOBUF, PROTOBUF_NOSR

__all__ = ["FORMATS", "Formats"]


class Formats(Mapping[str, Format]):
    """Formats by name, in the order in which they were added."""

    def __init__(self, *formats: Format) -> None:
        self._formats: dict[str, Format] = {}
        for each in formats:
            self.add(each)

    def add(self, format_: Format) -> None:
        """Makes a format known; from then on statements may name it. Raises ValueError for a name that is taken."""
        if format_.name in self._formats:
            raise ValueError(f"there is a format {format_.name} already")
        self._formats[format_.name] = format_

    def remove(self, name: str) -> None:
        """Forgets a format; raises KeyError where there is none."""
        del self._formats[name]

    def __getitem__(self, name: str) -> Format:
        return self._formats[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._formats)

    def __len__(self) -> int:
        return len(self._formats)


FORMATS = Formats(JSON, AVRO, JSON_SR, PROTOBUF, PROTOBUF_NOSR, DELIMITED, KAFKA, NONE)
"""All that statements may name."""

"""``ksqlpy datagen``: records for a stream or table, invented from its schema or taken from a file."""

from ksqlpy.datagen.generate import Generator, GeneratorSettings
from ksqlpy.datagen.pace import Pacer
from ksqlpy.datagen.send import print_rows, send_rows

__all__ = ["Generator", "GeneratorSettings", "Pacer", "print_rows", "send_rows"]

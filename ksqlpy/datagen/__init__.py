"""``ksqlpy datagen``: records for a stream or table, invented from its schema or taken from a file."""

from ksqlpy.datagen.generate import Generator, Wishes
from ksqlpy.datagen.pace import Pacer
from ksqlpy.datagen.send import print_rows, send_rows

__all__ = ["Generator", "Pacer", "Wishes", "print_rows", "send_rows"]

"""``ksqlpy demo``: 6,500 taxi rides through broker, server and queries, and every result checked.

Starts an embedded broker and a server, sends the statements of ``examples/taxi/taxi.sql`` over REST, writes the rides,
shows the results as they come, and compares all of them with what plain Python computes from the same files.
"""

from ksqlpy.demo.main import run

__all__ = ["run"]

"""Dead letters: records that queries could not read, as they lie in their topic, and how they are replayed.

The topic is that of the service, or one for late records (``ksql.late.records.topic``), which has the same headers.
"""

from __future__ import annotations

from ksqlpy.deadletters.letters import CUT, HEADERS, RESULT, TOPIC_ID, Letter, Letters, letter_of, read_letters
from ksqlpy.deadletters.replay import Choice, choice, replay
from ksqlpy.deadletters.summary import Summary, count_letters
from ksqlpy.deadletters.text import letter_json, mended

__all__ = [
    "CUT",
    "HEADERS",
    "RESULT",
    "TOPIC_ID",
    "Choice",
    "Letter",
    "Letters",
    "Summary",
    "choice",
    "count_letters",
    "letter_json",
    "letter_of",
    "mended",
    "read_letters",
    "replay",
]

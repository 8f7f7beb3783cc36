"""The topic of the command log, made again from a backup: each entry at its offset."""

from __future__ import annotations

import pytest

from ksqlpy.backup import Service
from ksqlpy.backup.commandtopic import (
    Standing,
    append_entries,
    entries_from,
    entries_text,
    log_facts,
    make_anew,
    standing,
)
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.commandlog import Entry

WANTED: dict[int, bytes | None] = {
    0: b'{"op": "role", "role": "\xc3\xa4"}',
    2: b"\xff\xfe",
    3: None,
    4: b"x" * 2_000_000,
}
END = 5


def test_entries_are_lines() -> None:
    entries = [Entry(1, None, deleted=True), *(Entry(offset, value) for offset, value in WANTED.items())]
    text = entries_text(entries)
    assert len(text.splitlines()) == len(WANTED) and entries_from(text) == WANTED
    for line in (b"{", b"[]", b'{"offset": 1}', b'{"offset": "a", "value": ""}', b'{"offset": 1, "base64": "!"}'):
        with pytest.raises((ValueError, LookupError, TypeError)):
            entries_from(line)


@pytest.fixture
def service(fresh_broker: EmbeddedKafka) -> Service:
    settings = {"bootstrap.servers": fresh_broker.bootstrap, "ksql.service.id": "entries_"}
    return Service(Config.of(settings))


def test_a_topic_is_made_again(service: Service) -> None:
    kafka, log = service.kafka, service.log
    assert standing(kafka, log, WANTED, END) == (Standing.MISSING, 0)
    with pytest.raises(KsqlError) as e:
        service.entries()
    assert e.value.code == "backup-no-service"
    make_anew(kafka, log, 3_000_000, delete=False)
    assert standing(kafka, log, WANTED, END) == (Standing.BEGINNING, 0)
    append_entries(kafka, log, WANTED, 0, 3)
    assert standing(kafka, log, WANTED, END) == (Standing.BEGINNING, 3)
    append_entries(kafka, log, WANTED, 3, END)
    assert standing(kafka, log, WANTED, END) == (Standing.WHOLE, END)
    assert {e.offset: e.value for e in service.entries()} == {**WANTED, 1: None}
    facts = log_facts(kafka, log, service.entries())
    assert facts == {"topic": log.topic, "id": service.topic_id(), "largest": 3_000_000, "first": 0, "next": END}
    assert kafka.topic_setting(log.topic, "retention.ms") == "-1"
    assert not service.runs

    append_entries(kafka, log, {5: b"more"}, 5, 6)
    assert standing(kafka, log, WANTED, END) == (Standing.LATER, 6)
    with pytest.raises(KsqlError, match="got entries of others"):
        append_entries(kafka, log, WANTED, 0, 1)
    assert standing(kafka, log, {**WANTED, 0: b"another"}, END)[0] is Standing.OTHER
    before = service.topic_id()
    make_anew(kafka, log, 0, delete=True)
    assert service.topic_id() not in ("", before)
    assert standing(kafka, log, WANTED, END) == (Standing.BEGINNING, 0)
    with pytest.raises(KsqlError, match="the command log cannot be written"):
        append_entries(kafka, log, WANTED, 0, END)  # its largest entry does not fit

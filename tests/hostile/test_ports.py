"""The ports of Spark's JVMs: on one machine nobody elsewhere reaches them, with a secret nobody without it is heard."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters.letters import records
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.hostile.ports import NONSENSE, Overheard, at_loopback, listening, said
from tests.support.waiting import until

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (k STRING KEY, n STRING) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE counts WITH (QUERY_ID = 'counts', KAFKA_TOPIC = 'counts') AS
  SELECT n, COUNT(*) AS c FROM orders GROUP BY n;
"""
WORD = "a-word-that-goes-from-task-to-task"
INSERT = f"INSERT INTO orders VALUES ('a', '{WORD}');"
REQUEST = struct.pack(">QBQI", 26, 3, 7, 5) + b"hello"
"""A request of Spark's, of somebody who has shown no secret: a frame of 26 bytes, RpcRequest, its number, its body."""


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("servers as processes, one with a Spark cluster")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ksqlpy.spark.conf.spark.authenticate": "true"},
        {"ksqlpy.spark.master": "local-cluster[2,8,1024]"},
        {
            "ksqlpy.spark.master": "local-cluster[2,8,1024]",
            "ksqlpy.spark.conf.spark.authenticate.secret": "for this test",
            "ksqlpy.spark.conf.spark.network.crypto.enabled": "true",
        },
    ],
    ids=["one machine", "secret", "cluster", "encrypted"],
)
def test_nonsense_at_all_ports(settings: dict[str, str], tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    broker.start()
    connection = KafkaConnection(broker.bootstrap)
    server = Server(connection, tmp_path, settings)

    def counted() -> list[int]:
        return [json.loads(m.value())["C"] for m in records(connection, {"counts": {}}) if m.value() is not None]

    try:
        server.start()
        server.statements(STATEMENTS)
        server.statements(INSERT, 60)
        assert until(lambda: counted() == [1])
        ports = listening(server)
        assert at_loopback(server), ports
        heard = [said(port, data) for _, port in ports for data in NONSENSE]
        answers = [said(port, REQUEST) for _, port in ports]
        if settings:  # each port of Spark's, that of the shuffle too
            refused = b"Expected SaslMessage", b"Unknown challenge message", b"Unexpected message type"
            assert len([a for a in answers if any(r in a for r in refused)]) >= 4, (ports, answers)
            assert not any(b"streaming" in a.lower() for a in answers)
        assert len(heard) == 4 * len(ports)
        if os.geteuid() != 0:  # nobody else may listen to others
            server.statements(INSERT)
            assert until(lambda: counted() == [1, 2])
        else:
            with Overheard(WORD.encode()) as heard_by_others:
                server.statements(INSERT)
                assert until(lambda: counted() == [1, 2])
            seen = heard_by_others.ports & {port for _, port in ports}
            assert bool(seen) is ("ksqlpy.spark.conf.spark.network.crypto.enabled" not in settings), (seen, ports)
        assert server.queries() == {"COUNTS": "RUNNING"}
    finally:
        server.close()
        broker.end()

"""A server that is told to stop while its broker is away ends by itself."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ksqlpy.connection import KafkaConnection
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.support.waiting import until

STATEMENTS = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums WITH (KAFKA_TOPIC = 'sums') AS SELECT item, SUM(n) AS s FROM orders GROUP BY item;
INSERT INTO orders VALUES ('pen', 1);
"""


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process")
def test_sigterm_ends_a_server_whose_broker_is_away(tmp_path: Path) -> None:
    """It takes less than the 20 seconds after which the harness would complain, also where requests hang."""
    broker = Broker(tmp_path / "broker")
    broker.start()
    server = Server(KafkaConnection(broker.bootstrap), tmp_path)
    try:
        server.start()
        server.statements(STATEMENTS)
        assert until(lambda: set(server.queries().values()) == {"RUNNING"})
        os.kill(broker.pid, signal.SIGSTOP)
        time.sleep(2)
        server.stop(20)
        assert server.wait_for_children()[1] == []
    finally:
        os.kill(broker.pid, signal.SIGCONT)
        server.close()
        broker.end()

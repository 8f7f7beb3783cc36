"""What goes on in a thread beside a block that is measured."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

__all__ = ["beside", "fed", "running"]


@contextmanager
def running(body: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs it beside the block, at whose end its event is set. Raises RuntimeError there if it has failed."""
    over, failed = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            body(over)
        except Exception as e:  # whatever it is, the figures are not those that are wanted
            failed.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise RuntimeError(f"what goes on beside has failed: {failed[0]}") from failed[0]


@contextmanager
def beside(step: Callable[[], object], every: float) -> Iterator[None]:
    """Has the step done each so many seconds while the block runs."""

    def steps(over: threading.Event) -> None:
        while not over.wait(every):
            step()

    with running(steps):
        yield


@contextmanager
def fed(bootstrap: str, topic: str, rate: float) -> Iterator[None]:
    """Records come into a topic while the block runs, so many a second, at an even rate."""
    producer, numbers = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0}), itertools.count()

    def send() -> None:
        number = next(numbers)
        producer.produce(topic, key=b"k%d" % (number % 50), value=b'{"V":%d}' % number)
        producer.poll(0)

    with beside(send, 1 / rate):
        yield
    producer.flush(5)

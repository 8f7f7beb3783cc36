"""One case on a running engine: real topics, queries in real-time mode, the verdict of the same judge.

A case that passes without Kafka may still want what no real broker promises: that a query reads its records in the
order of the file although they lie in several topics (:mod:`ksqlpy.testing.served` sees to it), that of several queries
that write one topic each is done before the next (the records are put into that order), and that several partitions
have one order (they are compared key by key).
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ksqlpy.catalog import Source
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.once import mark
from ksqlpy.testing.check import CaseFailed
from ksqlpy.testing.live import new_suffix, with_suffix, without_marks
from ksqlpy.testing.records import Record
from ksqlpy.testing.served import Pace, Served, Written, drop

from .cases import Case, json_text
from .encoding import Seen, decoded, encoded
from .judge import Verdict, judge
from .producing import JavaProducer
from .run import IGNORED, Ran, by_topic_noted, declared_topics, first_line, unsaid_partitions
from .schemas import Schemas

__all__ = ["LiveCase", "run_live"]


class LiveCase:
    """A case as :func:`tests.harness.together.run_together` takes it; ``verdict``: what came of it, at the end."""

    def __init__(self, engine: Engine, case: Case, pace: Pace, *, lax: bool = False) -> None:
        self._engine, self._case, self._pace, self._lax = engine, case, pace, lax
        self._suffix = new_suffix()
        self._by_topic: dict[str, Source] = {}
        self._made: set[str] = set()
        self._schemas = Schemas(engine.config.registry(), self._suffix)
        self.served: Served
        self.verdict: Verdict | None = None

    @property
    def name(self) -> str:
        """The case's full name."""
        return self._case.full_name

    def start(self, properties: Mapping[str, object] | None = None) -> None:
        """Makes the topics and runs the statements; raises KsqlError, and CaseFailed."""
        case = self._case
        self._schemas.offer(case.topics)
        for topic in case.topics:
            self._make(topic["name"], topic.get("partitions") or 1)
        own = {k: v for k, v in case.properties.items() if k not in IGNORED}
        session = {"auto.offset.reset": "earliest", **own, **(properties or {})}
        for statement in case.statements:
            for name, partitions in declared_topics(statement, unsaid_partitions(case)):
                self._make(name, partitions)
            self._engine.execute(with_suffix(self._schemas.renumbered(statement), self._suffix), session)
            by_topic_noted(self._plain_sources(), self._by_topic)
        for written in case.inputs:
            self._make(written.topic, 1)
        self.served = Served(
            self._engine, self._suffix, self.name, self._pace, frozenset(self._made), JavaProducer(self._engine).write
        )

    def _plain_sources(self) -> list[Source]:
        return [
            replace(s, name=s.name.removesuffix(self._suffix), topic=s.topic.removesuffix(self._suffix))
            for s in self._engine.catalog.sources.values()
            if s.name.endswith(self._suffix)
        ]

    def _make(self, topic: str, partitions: int) -> None:
        if topic in self._made or topic in {s.topic for s in self._plain_sources()}:
            return
        self._engine.kafka.create_topic(topic + self._suffix, partitions, None, {})
        self._made.add(topic)

    def records(self) -> list[Record]:
        """What goes in; raises CaseFailed for what no topic takes."""
        found = []
        for written in self._case.inputs:
            headers = tuple((n, None if v is None else base64.b64decode(v)) for n, v in written.headers)
            try:
                record = encoded(written, self._by_topic.get(written.topic), headers, self._schemas)
            except (ValueError, KeyError) as e:
                raise CaseFailed(f"input: {e}") from e
            if record.time is not None and record.time < 0:
                raise CaseFailed("Kafka takes no record of before 1970")
            found.append(record)
        return found

    def verify(self) -> None:
        """Waits for the results and judges them; raises CaseFailed with the reason."""
        served, case = self.served, self._case
        served.settle()
        wanted: dict[str, int] = {}
        for record in case.outputs:
            wanted[record.topic] = wanted.get(record.topic, 0) + 1
        known = {served.plain(t) for t in served.partitions}
        served.wait_for({t: n for t, n in wanted.items() if t in known})
        served.settle()
        several = {served.plain(t) for t, n in served.partitions.items() if n > 1}
        numbers = {mark(q.id): n for n, q in enumerate(served.queries)}
        ran = Ran(
            served.sources,
            {t: self._seen(w, numbers, spread=t in several) for t, w in served.written().items()},
            {served.plain(t): n for t, n in served.partitions.items()},
            dead=served.dead_letters(),
            queries=len(served.queries),
        )
        outputs = [r for r in case.outputs if r.topic not in several]
        outputs += sorted((r for r in case.outputs if r.topic in several), key=lambda r: json_text(r.key))
        self.verdict = judge(replace(case, outputs=tuple(outputs)), ran, lax=self._lax)
        if self.verdict.result != "passed":
            raise CaseFailed(self.verdict.reason)

    def _seen(self, written: Sequence[Written], numbers: Mapping[bytes, int], *, spread: bool) -> list[Seen]:
        ordered = sorted(written, key=lambda w: numbers.get(w.mark or b"", -1))
        found = [
            decoded(
                Record(w.topic, w.key, w.value, w.time, without_marks(w.headers)),
                self._by_topic.get(w.topic),
                self._schemas,
            )
            for w in ordered
        ]
        return sorted(found, key=lambda s: json_text(s.key)) if spread else found

    def drop(self) -> None:
        """Takes it off the engine."""
        drop(self._engine, self._suffix)
        # Brokers list a topic for a moment more when it is deleted, and refuse to delete it again.
        with contextlib.suppress(EngineProblem):
            self._engine.kafka.delete_topics([t + self._suffix for t in self._made])


def run_live(engine: Engine, case: Case, pace: Pace, *, lax: bool = False) -> Verdict:
    """The verdict of a case on an engine; raises nothing."""
    live = LiveCase(engine, case, pace, lax=lax)
    try:
        live.start()
        live.served.wait_until_live()
        live.served.send(live.records())
        live.verify()
    except KsqlError as e:
        return Verdict("failed", f"refused: {e.code}: {e.summary()}", f"refused: {e.code}")
    except CaseFailed as e:
        return live.verdict or Verdict("failed", str(e), "the query failed")
    except Exception as e:  # whatever it is belongs to the case
        return Verdict("failed", f"crash: {type(e).__name__}: {first_line(e)}", "crash")
    finally:
        live.drop()
    return Verdict("passed")

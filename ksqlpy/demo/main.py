"""The course of the demo."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.demo.data import ZONES_AT, Files, Ride, Zone, find_files, read_rides, read_statements, read_zones
from ksqlpy.demo.expected import RESULTS, Check, Record, compare, expect, totals
from ksqlpy.demo.formats import Values
from ksqlpy.demo.view import Query, View, result_text
from ksqlpy.errors import EngineProblem

if TYPE_CHECKING:
    from ksqlpy.client import Client
    from ksqlpy.connection import KafkaConnection
    from ksqlpy.demo.cluster import DemoCluster
    from ksqlpy.demo.topics import Reader
    from ksqlpy.runtime import Engine

__all__ = ["run"]

PATIENCE = 30.0
"""Seconds without any new result after which no more are waited for."""

STALL = 3.0
"""Seconds without any new result after which the server is asked how it is."""

_LOADED = time.monotonic()


def run(options: argparse.Namespace) -> int:
    """Runs the demo with the options of ``ksqlpy demo``; gives the exit code: 0 when all checks pass, 1 when one fails.

    ``options.properties`` says how brokers are reached that are not the demo's own. Raises KsqlError for what hinders
    it, and KeyboardInterrupt; nothing is left running then.
    """
    from ksqlpy.embedded.process import ended_in_order

    with ended_in_order(), View(_process_start(), quiet=options.quiet) as view:
        files = find_files(options.files)
        if options.cluster:
            from ksqlpy.demo.cluster import DemoCluster

            with DemoCluster(view.phase) as cluster:
                given = {**options.properties, **cluster.properties}
                checks, first = _course(files, view, given, options.format, keep=options.keep, cluster=cluster)
        else:
            checks, first = _course(files, view, options.properties, options.format, keep=options.keep)
        view.close()
        return _verdict(checks, first, view)


def _verdict(checks: Sequence[Check], first: float | None, view: View) -> int:
    """Prints the closing lines; gives the exit code."""
    if first is not None:
        view.say(f"first result row after {first:.1f} s, whole demo {view.elapsed:.1f} s")
    failed = sum(not c.ok for c in checks)
    view.say(f"demo: {failed} of {len(checks)} checks failed" if failed else f"demo: {len(checks)} checks passed")
    return 1 if failed else 0


def _course(
    files: Files,
    view: View,
    properties: Mapping[str, str],
    format_: str,
    *,
    keep: bool,
    cluster: DemoCluster | None = None,
) -> tuple[list[Check], float | None]:
    """The whole demo; gives the checks, and the seconds from the start of the process to the first result."""
    from ksqlpy.client import Client
    from ksqlpy.config import Config
    from ksqlpy.demo.topics import Reader, borrowed, produce
    from ksqlpy.embedded.process import start_whole
    from ksqlpy.runtime import Engine
    from ksqlpy.server.run import ServerThread

    rides, zones = read_rides(files.rides), read_zones(files.zones)
    with contextlib.ExitStack() as stack:
        # Its server is its own, on loopback, and asks nobody for a login.
        given: dict[str, str] = {n: v for n, v in properties.items() if not n.startswith("ksqlpy.auth.")}
        if given.get("bootstrap.servers"):
            given["ksql.service.id"] = f"demo_{uuid.uuid4().hex[:8]}_"
            stack.enter_context(borrowed(Config.of(given), ["taxi_zones", "taxi_rides", *RESULTS]))
        values = _values(format_, given, stack, view)
        # Its own queries warm up.
        engine = Engine(Config.of({"ksqlpy.warm.up": "false", **given}), view.phase)
        stack.enter_context(_quick_jvm())
        start_whole(engine.start, engine.stop, view.phase)
        stack.callback(engine.stop)
        stack.callback(view.phase, "stopping")
        server = stack.enter_context(ServerThread(engine))
        client = stack.enter_context(Client(server.url))
        overrides, sources, queries = read_statements(files.sql)
        for statement in sources:
            view.phase(f"{_name(statement)}: sent to {server.url}")
            client.statements(values.statement(statement), overrides)
        # Older than all rides: the join, which reads by time, takes them first, whenever the rides come.
        produce(engine.connection, "taxi_zones", values.records("taxi_zones", zones), time=ZONES_AT)
        ids: list[str] = []
        for statement in queries:
            view.phase(f"{_name(statement)}: sent to {server.url}")
            ids += [e["commandStatus"]["queryId"] for e in client.statements(values.statement(statement), overrides)]
        reader = stack.enter_context(Reader(engine.connection, list(RESULTS), values.read))
        view.phase("waiting for the queries to be live")
        for query_id in ids:
            _wait_until_live(engine, query_id)
        demo = _Demo(client, reader, view, {z.id: z.name for z in zones})
        view.phase(f"writing {len(rides):,} rides")

        def sent(count: int) -> None:
            demo.sent(count, len(rides))
            if cluster is not None and count > len(rides) // 2:
                cluster.kill_executor()

        produce(engine.connection, "taxi_rides", values.records("taxi_rides", rides), sent)
        view.phase("reading the results")
        expected = expect(rides, zones)
        demo.wait({topic: len(records) for topic, records in expected.items()})
        first = None if reader.first is None else view.elapsed - (time.monotonic() - reader.first)
        checks = compare(expected, totals(rides, zones), reader.records, len(rides))
        if cluster is not None:
            checks.append(Check(f"executor {cluster.killed} was killed", cluster.killed is not None))
            _wait_until_all_run(client)
        checks += _of_the_server(client, engine.connection, reader.records)
        view.close()
        _report(checks, rides, zones, reader.records, view)
        if keep:
            _wait_for_interrupt(server.url, engine.bootstrap, view)
    return checks, first


def _values(format_: str, given: dict[str, str], stack: contextlib.ExitStack, view: View) -> Values:
    """How values are written in the format; starts a schema registry where one is needed and ``given`` names none."""
    if format_ == "JSON":
        return Values()
    from ksqlpy.config import Config
    from ksqlpy.embedded.registry import EmbeddedRegistry
    from ksqlpy.formats.serializers import Serializer

    if not given.get("ksql.schema.registry.url"):
        view.phase("starting the schema registry")
        given["ksql.schema.registry.url"] = stack.enter_context(EmbeddedRegistry(progress=view.phase)).url
    registry = Config.of(given).registry()
    assert registry is not None
    return Values(format_, Serializer(registry))


def _name(statement: str) -> str:
    return " ".join(statement.split(maxsplit=3)[:3])


def _wait_until_live(engine: Engine, query_id: str) -> None:
    """Waits until the query takes record by record: what is there before that it reads at once, sorted by time."""
    deadline = time.monotonic() + 2 * PATIENCE
    running = engine.queries.get(query_id)
    while running is None or not running.live.wait(0.1):
        if running is None or running.error is not None:
            raise EngineProblem("query-failed", f"query {query_id}: {running.error if running else 'is gone'}")
        if time.monotonic() > deadline:
            raise EngineProblem("query-not-live", f"query {query_id} did not get live", hint="is the machine busy?")


def _wait_until_all_run(client: Client) -> None:
    """Waits until the queries of a killed executor run again; results may all be there before."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        described = client.statements("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
        if all(d["state"] == "RUNNING" for d in described):
            return
        time.sleep(0.2)


def _of_the_server(client: Client, connection: KafkaConnection, got: Mapping[str, Sequence[Record]]) -> list[Check]:
    """The checks of what the server says, and of topics as the broker counts them."""
    from ksqlpy.demo.topics import written

    described = client.statements("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    bad = [f"{d['id']}: {d['state']} {d['figures']['error'] or ''}" for d in described if d["state"] != "RUNNING"]
    source = client.statements("DESCRIBE rides EXTENDED;")[0]["sourceDescription"]
    dead = source["deadLetterTopic"]
    ends = written(connection, {**{t: len(r) for t, r in got.items()}, dead: 0})
    letters = [f"{d['id']}: {n} dead letters" for d in described if (n := d["figures"]["deadLetters"])]
    letters += [f"{ends[dead]} records in topic {dead}"] if ends[dead] else []
    unread = [f"{t}: {ends[t]} records, {len(r)} were read" for t, r in got.items() if ends[t] != len(r)]
    return [
        Check(f"queries: {len(described)} running", not bad, tuple(bad)),
        Check("dead letters: none", not letters, tuple(letters)),
        Check("result topics: nothing else in them", not unread, tuple(unread)),
    ]


# ---------------------------------------------------------------- results


class _Demo:
    """Keeps the view up to date while results come."""

    def __init__(self, client: Client, reader: Reader, view: View, zones: Mapping[int, str]) -> None:
        self._client, self._reader, self._view, self._zones = client, reader, view, zones
        self._looked = 0.0

    def sent(self, count: int, of: int) -> None:
        """Rides that were written."""
        self._view.sent(count, of)
        self._look()

    def wait(self, wanted: Mapping[str, int]) -> None:
        """Returns when every topic has as many records as wanted, or none has come for :data:`PATIENCE` seconds.

        Raises EngineProblem ``not-healthy`` when none comes because a part of the whole is gone.
        """
        seen, since = -1, time.monotonic()
        records = self._reader.records
        while any(len(records[t]) < n for t, n in wanted.items()):
            count = sum(map(len, records.values()))
            if count != seen:
                seen, since = count, time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                return
            elif time.monotonic() - since > STALL:
                self._check_health()
            self._look()
            time.sleep(0.05)
        time.sleep(0.5)  # a record too many would come now
        self._look(always=True)

    def _check_health(self) -> None:
        health = self._client.healthcheck()
        ill = [name for name, part in health["details"].items() if not part["isHealthy"] and name != "queries"]
        if ill:
            raise EngineProblem("not-healthy", f"no more results: the server's {' and '.join(ill)} does not answer")
        time.sleep(1)

    def _look(self, *, always: bool = False) -> None:
        if self._view.quiet or (time.monotonic() - self._looked < 0.5 and not always):
            return
        self._looked = time.monotonic()
        described = self._client.statements("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
        latest = {t: result_text(t, r[-1], self._zones) for t, r in self._reader.records.items() if r}
        self._view.figures([_figures(d) for d in described], latest)


def _figures(described: Mapping[str, Any]) -> Query:
    figures = described["figures"]
    topic = f"taxi_{described['sinks'][0].lower()}"
    return Query(topic, described["state"], figures["rowsIn"], figures["rowsOut"], figures["lag"])


def _report(
    checks: Sequence[Check],
    rides: Sequence[Ride],
    zones: Sequence[Zone],
    got: Mapping[str, Sequence[Record]],
    view: View,
) -> None:
    """Prints the last results of the boroughs, and the checks."""
    if not view.quiet:
        names = {z.id: z.name for z in zones}
        last = {r.key: r for r in got["taxi_boroughs"]}
        view.say(f"{len(rides):,} rides by borough:")
        for record in sorted(last.values(), key=lambda r: -int(str((r.value or {}).get("RIDES", 0)))):
            view.say(f"  {result_text('taxi_boroughs', record, names)}")
    for check in checks:
        view.say(f"{'ok    ' if check.ok else 'FAILED'} {check.name}")
        for detail in check.details:
            view.say(f"         {detail}")


# ---------------------------------------------------------------- the process


def _wait_for_interrupt(url: str, bootstrap: str, view: View) -> None:
    view.say(f"the server stays at {url}, Kafka at {bootstrap}: try `ksqlpy --server {url}`; Ctrl-C ends them")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


@contextlib.contextmanager
def _quick_jvm() -> Iterator[None]:
    """Keeps Spark's JVM to its quick compiler: the thorough one takes half of all CPU time of so short a run.

    SPARK_SUBMIT_OPTS is what Spark's launcher reads; one that is set already stays.
    """
    name = "SPARK_SUBMIT_OPTS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "-XX:TieredStopAtLevel=1"
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _process_start() -> float:
    """When this process started, by ``time.monotonic()``; where that is not known, when this module was loaded."""
    try:
        # Linux: field 22 is the start in clock ticks after boot; the name, field 2, may hold spaces.
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return _LOADED
    return time.monotonic() - age if 0 <= age < 3600 else _LOADED

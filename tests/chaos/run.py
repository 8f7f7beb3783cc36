"""One run: parts started, load sent, kills done, results read and compared."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.embedded.registry import EmbeddedRegistry
from ksqlpy.errors import KsqlError
from ksqlpy.registry import SchemaRegistry
from tests.chaos.cluster import Cluster
from tests.chaos.jobs import JOBS, Job
from tests.chaos.kills import carry_out, plan
from tests.chaos.load import Load
from tests.chaos.networks import Networks
from tests.chaos.options import Options
from tests.chaos.report import Report
from tests.chaos.sinks import Topics
from tests.chaos.values import Values
from tests.chaos.verdict import Verdict
from tests.chaos.watch import Watch
from tests.harness.broker import Broker
from tests.harness.problem import HarnessProblem
from tests.harness.server import Server
from tests.support.waiting import until

__all__ = ["run"]

LIVE = 180.0
"""Seconds that the queries get until each has a result, before the first kill."""
PATIENCE = 60.0
"""Seconds for a query that failed of a kill to come further."""
CALM = 3.0
"""Seconds without a new result that are enough where nothing is missing."""
SETTLE = 900.0
"""Seconds that results may go on coming after the load; an engine that repeats itself must not hold us for ever."""

Tell = Callable[[str], None]


def run(options: Options, tell: Tell = print) -> Report:
    """Does a run and reports; ``tell`` gets a line about every step.

    Raises KsqlError for what keeps the run from beginning, or from being judged. What goes wrong with the server after
    the first kill stands in the report.
    """
    with contextlib.ExitStack() as stack:
        folder = options.keep
        if folder is None:
            folder = stack.enter_context(scratch_folder("ksqlpy-chaos-"))
        folder.mkdir(parents=True, exist_ok=True)
        return _Run(options, folder.absolute(), tell, stack).report()


class _Run:
    """The parts of a run, which ``stack`` ends."""

    def __init__(self, options: Options, folder: Path, tell: Tell, stack: contextlib.ExitStack) -> None:
        self._options, self._tell, self._stack = options, tell, stack
        self._jobs = [JOBS[name] for name in options.jobs]
        self._random = Random(f"early {options.seed}")
        self._kills = plan(options.seed, options.kills, options.kinds, options.min_gap, options.max_gap)
        tell("starting the broker and the server")
        networks = stack.enter_context(Networks(options.workers)) if options.networks else None
        self._broker = Broker(folder / "broker", networks.brokers if networks is not None else "127.0.0.1")
        stack.callback(self._broker.end)
        self._broker.start()
        url = "" if options.format == "JSON" else stack.enter_context(EmbeddedRegistry()).url
        self._values = Values(options.format, SchemaRegistry([url]) if url else None)
        self._cluster: Cluster | None = None
        if options.workers:
            self._cluster = stack.enter_context(Cluster(options.workers, options.seed, folder / "spark", networks))
        more = {"ksqlpy.functions.python.enabled": "true", "ksqlpy.dead.letters.stream.auto.create": "true"}
        more |= {"ksql.schema.registry.url": url} if url else {}
        if self._cluster is not None:
            more |= self._cluster.settings(folder / "checkpoints")
        self._server = Server(self._broker.connection, folder, more)
        stack.callback(self._server.close)
        self._server.start()
        self._topics = Topics(self._broker.connection, self._values.decode)
        self._load = Load(
            self._broker.connection,
            [f for j in self._jobs for f in j.feeds],
            rate=options.rate,
            partitions=options.partitions,
            seed=options.seed,
            scatter=options.scatter,
            encode=self._values.encode,
        )

    def report(self) -> Report:
        """Goes through the run."""
        settings = self._settings()
        for job in self._jobs:
            self._server.statements(self._values.declared(job.declare.format(p=self._options.partitions)))
        self._load.preload()
        if self._options.early:
            self._load.start()
        for job in self._jobs:
            self._server.statements(settings + job.query, patience=PATIENCE if self._options.early else 0)
            if self._options.early:
                self._kill_early(job)
        sinks = self._topics.partitions([j.sink for j in self._jobs])
        watch = Watch(self._topics, sinks)
        self._stack.callback(watch.stop)
        watch.start()
        begin = time.monotonic()
        if not self._options.early:
            self._load.start()
        self._wait_until_live(watch, begin)
        report = Report(self._options)
        try:
            self._kill(report, begin, watch)
            self._wait_until_back(report)
        except KsqlError as e:
            report.problems.append(e.render())
            self._tell(e.render())
        self._tell("the load ends")
        self._load.finish()
        report.sent = sum(map(len, self._load.sent.values()))
        report.seconds = time.monotonic() - begin
        self._check_sources()
        report.verdicts = self._judged(watch, sinks, came_back=not report.problems)
        self._look_back(report, watch)
        self._look_at_queries(report)
        return report

    def _kill_early(self, job: Job) -> None:
        """Kills the JVM, or it and the server, within a second after the queries of a job were made."""
        time.sleep(self._random.uniform(0, 1))
        if self._random.random() < 0.5:
            self._tell(f"the JVM gets SIGKILL behind CREATE of {job.name}")
            self._server.kill_jvm()
        else:
            self._tell(f"server and JVM get SIGKILL behind CREATE of {job.name}")
            self._server.kill_with_jvm()
            self._server.wait_for_children()
            self._server.start()

    def _settings(self) -> str:
        values = {"auto.offset.reset": "earliest", "commit.interval.ms": str(self._options.commit_interval)}
        if self._options.guarantee is not None:
            values["processing.guarantee"] = self._options.guarantee
        return "".join(f"SET '{name}' = '{value}'; " for name, value in values.items())

    def _wait_until_live(self, watch: Watch, begin: float) -> None:
        """Every query has given a result: what comes before is its start, not its recovery."""
        if not until(lambda: watch.counts and all(watch.counts.values()), begin + LIVE - time.monotonic()):
            idle = [t for t, n in watch.counts.items() if not n]
            raise HarnessProblem("no-results", f"no results came to {', '.join(idle) or 'any topic'}")
        self._tell(f"all {len(self._jobs)} queries give results after {time.monotonic() - begin:.1f} s of load")

    def _kill(self, report: Report, begin: float, watch: Watch) -> None:
        for number, planned in enumerate(self._kills, 1):
            time.sleep(planned.gap)
            self._tell(f"kill {number} of {len(self._kills)}: {planned.kind} at {time.monotonic() - begin:.1f} s")
            kill = carry_out(planned, begin, self._server, self._broker, watch, self._load, self._cluster)
            report.kills.append(kill)
            report.problems += [f"kill {number} ({kill.kind}): {problem}" for problem in kill.problems]

    def _wait_until_back(self, report: Report) -> None:
        """The load goes on until the last kill is overcome: else the end of the load would look like the end of all."""
        if not report.kills:
            return
        mark = report.kills[-1].mark
        if not until(lambda: mark.every is not None, self._options.recover):
            self._tell(f"not all jobs give results again within {self._options.recover:g} s of the last kill")
        time.sleep(self._options.tail)

    def _check_sources(self) -> None:
        """The topics must hold what was sent: else the truth would be a wrong one."""
        expected = {t: len(s) for t, s in self._load.sent.items()}
        found = self._topics.ends(self._topics.partitions(list(expected)))
        if found != expected:
            raise HarnessProblem("load-not-sent", f"the sources hold {found}, but what was sent is {expected}")

    def _look_back(self, report: Report, watch: Watch) -> None:
        """Finds out when the results of what was sent before each kill were there."""
        to_wall = time.time() - time.monotonic()
        for mark in (k.mark for k in report.kills):
            killed = (mark.since + to_wall) * 1000
            sent = {t: [r for r in records if r.time <= killed] for t, records in self._load.sent.items()}
            mark.caught_up = watch.reached({j.sink: j.due(sent) for j in self._jobs}, mark.made)

    # ------------------------------------------------------------ the end

    def _judged(self, watch: Watch, sinks: Mapping[str, int], *, came_back: bool) -> list[Verdict]:
        """The verdicts, when all is there that is due or nothing has come for some time."""
        due = {j.sink: j.due(self._load.sent) for j in self._jobs}
        self._tell("waiting for the results")
        begin = time.monotonic()
        quiet = self._options.quiet if came_back else CALM  # nothing comes of a server that is gone
        while time.monotonic() < begin + SETTLE:
            still = time.monotonic() - max(watch.changed, begin)
            enough = all(watch.counts.get(t, 0) >= n for t, n in due.items())
            if still >= (CALM if enough else quiet):
                verdicts = self._verdicts(sinks)
                # Records that came twice may hide others that are still to come.
                if still >= quiet or not any(v.missing for v in verdicts):
                    return verdicts
                time.sleep(max(0.0, quiet - (time.monotonic() - max(watch.changed, begin))))
            time.sleep(0.2)
        return self._verdicts(sinks)

    def _verdicts(self, sinks: Mapping[str, int]) -> list[Verdict]:
        return [self._verdict(job, sinks[job.sink]) for job in self._jobs]

    def _verdict(self, job: Job, partitions: int) -> Verdict:
        return job.check(self._load.sent, self._topics.read(job.sink, partitions))

    def _look_at_queries(self, report: Report) -> None:
        """All queries must run in the end; one that failed shows it only once it has come further."""
        end = time.monotonic() + PATIENCE
        try:
            states = self._server.queries()
            while set(states.values()) != {"RUNNING"} and time.monotonic() < end:
                time.sleep(0.5)
                states = self._server.queries()
        except KsqlError as e:
            report.problems.append(e.message)
            return
        report.problems += [f"query {q} is {state}" for q, state in states.items() if state != "RUNNING"]
        if len(states) != (wanted := sum(j.queries for j in self._jobs)):
            report.problems.append(f"there are {len(states)} queries instead of {wanted}")

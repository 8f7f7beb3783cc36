"""The kinds of kills: which comes when, and how each is done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.chaos.cluster import Cluster
from tests.chaos.load import Load
from tests.chaos.watch import Mark, Watch
from tests.harness.broker import Broker
from tests.harness.pythonworkers import kill_python
from tests.harness.server import OUTLIVE, Server

__all__ = ["KINDS", "OF_PYTHON", "ON_CLUSTER", "ON_NETWORKS", "ON_ONE_MACHINE", "Kill", "Planned", "carry_out", "plan"]

KINDS = {
    "jvm": "Spark's JVM gets SIGKILL",
    "server": "the server gets SIGKILL and is started again",
    "broker": "the broker gets SIGKILL and is started again some seconds later",
    "both": "Spark's JVM and the broker get SIGKILL at once, and the broker is started again some seconds later",
    "everything": "server, Spark's JVM and broker get SIGKILL at once, and are started again some seconds later",
    "stop": "the server is stopped in order and started again",
    "pause": "all queries are paused and resumed some seconds later",
    "stall": "Spark's JVM gets SIGSTOP, and goes on some seconds later",
    "lull": "the broker gets SIGSTOP, and goes on some seconds later",
    "slow": "Spark's JVM is stopped nine tenths of the time for some seconds, so that queries fall behind",
    "burst": "one topic of each job gets many times the records for some seconds",
    "takeover": "server and JVM get SIGSTOP, another server takes the service, both go on for some seconds",
    "deaf": "as takeover, but the JVM of the first server is not stopped",
    "standby": "the server gets SIGKILL while a standby waits, which takes its place",
    "handover": "Spark's JVM gets SIGKILL while a standby waits, which takes the server's place",
    "orphan": "the JVM gets SIGSTOP, its server SIGKILL and is started again, the JVM goes on",
    "python": "a worker process of functions in Python gets SIGKILL",
    "forks": "the process that forks those of a JVM gets SIGKILL, which ends them all",
    "executor": "an executor of the Spark cluster gets SIGKILL",
    "frozen": "an executor gets SIGSTOP, and goes on when the driver has given it up",
    "worker": "a worker gets SIGKILL and is started again some seconds later",
    "cut": "a worker with its executor is cut off from driver and Master for half a minute, not from the brokers",
    "island": "a worker with its executor is cut off from everything for half a minute",
}
"""The kinds by name."""

ON_ONE_MACHINE = (
    "jvm", "server", "broker", "both", "everything", "stop", "pause", "stall", "lull", "slow", "burst", "takeover",
    "deaf", "standby", "handover", "orphan", "python", "forks",
)  # fmt: skip
"""Those that need no cluster, where all tasks run in the driver's JVM."""

ON_CLUSTER = ("jvm", "server", "broker", "executor", "frozen", "worker", "python", "forks")
"""Those of a run on a cluster."""

OF_PYTHON = ("python", "forks")
"""Those of a run with a job that calls functions in Python."""

ON_NETWORKS = ("cut", "island")
"""Those that a cluster whose workers have networks of their own can have besides."""

FROZEN = 30.0
"""Seconds that an executor is stopped or cut off: longer than the driver waits for it."""

AWAY = (2.0, 6.0)
"""Seconds, from and to, that a broker is away or queries are paused."""

SLICE = 0.5
"""Seconds of a slow JVM: mostly stopped, a moment at work."""

PATIENCE = 60.0
"""Seconds that the server gets when it is about to recover from the kill before."""


@dataclass(frozen=True)
class Planned:
    """A kill to come: ``gap`` seconds after the one before it was done; ``away``: seconds, where the kind has some."""

    kind: str
    gap: float
    away: float


@dataclass
class Kill:
    """A kill that was done.

    ``at``: seconds since the load began. ``down``: seconds until the harness had everything running again. ``mark``:
    when results came again, from the kill on; after a pause from the end of it on. ``children``: seconds until the
    children of a killed server were gone; ``problems``: what must not be.
    """

    kind: str
    at: float
    down: float
    mark: Mark
    children: float | None = None
    problems: list[str] = field(default_factory=list)


def plan(seed: int, kills: int, kinds: Sequence[str], min_gap: float, max_gap: float) -> list[Planned]:
    """The kills that follow from the seed: every kind equally often, in an order and at moments of chance."""
    random = Random(f"kills {seed}")
    order: list[str] = []
    while len(order) < kills:
        some = list(kinds)
        random.shuffle(some)
        order += some
    return [Planned(kind, random.uniform(min_gap, max_gap), random.uniform(*AWAY)) for kind in order[:kills]]


def carry_out(
    planned: Planned,
    began: float,
    server: Server,
    broker: Broker,
    watch: Watch,
    load: Load,
    cluster: Cluster | None = None,
) -> Kill:
    """Does it, and returns when the harness has done its part; ``began``: when the load did, by the monotonic clock.

    Raises KsqlError when the server or the broker does not come back, or refuses.
    """
    begin = time.monotonic()
    children: float | None = None
    problems: list[str] = []
    executors = cluster.executors if cluster is not None else []

    def await_executors() -> None:
        if cluster is not None:
            cluster.wait_until_gone(executors, OUTLIVE)  # until then they still write

    match planned.kind:
        case "jvm":
            server.kill_jvm()
            await_executors()
            mark = watch.mark(begin)
        case "server" | "everything" | "stop":
            if planned.kind == "server":
                server.kill()
            elif planned.kind == "everything":
                broker.kill(planned.away, server.kill_with_jvm)
            else:
                server.stop()
            children, outlived = server.wait_for_children()
            await_executors()
            mark = watch.mark(begin)  # until then a JVM without its server may still write
            problems += [f"{child} outlived the server" for child in outlived]
            server.start()
        case "broker" | "both":
            broker.kill(planned.away, server.kill_jvm if planned.kind == "both" else None)
            mark = watch.mark(begin)
        case "pause":
            queries = server.queries()
            server.statements(" ".join(f"PAUSE {q};" for q in queries), PATIENCE)
            time.sleep(planned.away)
            server.statements(" ".join(f"RESUME {q};" for q in queries), PATIENCE)
            mark = watch.mark()
        case "stall" | "slow":
            if planned.kind == "stall":
                server.stop_jvm(planned.away)
            else:
                for _ in range(int(planned.away / SLICE)):
                    server.stop_jvm(SLICE * 0.9)
                    time.sleep(SLICE * 0.1)
            mark = watch.mark()
        case "lull":
            broker.stall(planned.away)
            mark = watch.mark()
        case "burst":
            load.burst(planned.away)
            mark = watch.mark()
        case "takeover" | "deaf":
            problems += server.be_taken_over(planned.away, jvm=planned.kind == "takeover")
            mark = watch.mark(begin)
        case "standby" | "handover":
            kill = server.stand_by(jvm=planned.kind == "handover")
            begin = time.monotonic()
            kill()
            if planned.kind == "handover":  # the server itself writes nothing
                await_executors()
                mark = watch.mark(begin)
            children, outlived = server.wait_for_children()
            await_executors()
            if planned.kind == "standby":
                mark = watch.mark(begin)
            server.wait_until_ready()
            problems += [f"{child} outlived the server" for child in outlived]
        case "python" | "forks":
            runners = server.runners if cluster is None else cluster.runners
            kill_python(runners, Random(planned.away), forks=planned.kind == "forks")
            mark = watch.mark(begin)
        case "orphan":
            problems += server.leave_jvm_behind(OUTLIVE)
            mark = watch.mark(begin)
        case "cut" | "island" if cluster is not None:
            mark = watch.mark(begin)
            cluster.cut_off(FROZEN, brokers=planned.kind == "island")
        case "executor" | "frozen" | "worker" if cluster is not None:
            if planned.kind == "executor":
                cluster.kill_executor()
                mark = watch.mark(begin)
            elif planned.kind == "frozen":
                mark = watch.mark(begin)
                cluster.freeze_executor(FROZEN)
            else:
                mark = watch.mark(begin)
                cluster.kill_worker(planned.away)
        case kind:
            raise ValueError(f"there is no kind {kind}")
    return Kill(planned.kind, begin - began, time.monotonic() - begin, mark, children, problems)

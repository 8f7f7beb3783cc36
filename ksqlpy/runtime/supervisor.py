"""Runs the queries: Spark's session, starting and stopping, and the watch over the JVM that may die."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.catalog import Catalog, PersistentQuery, Source
from ksqlpy.plan import Plan, mode_of
from ksqlpy.plan.stored import Kept
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.cluster.spare_driver import Spares
from ksqlpy.runtime.cluster.warm_ups import WarmUps
from ksqlpy.runtime.internal import may_read
from ksqlpy.runtime.push import Asked
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.recovery.suspects import Suspects
from ksqlpy.runtime.scratch import Scratch
from ksqlpy.spark.admissions import Admissions
from ksqlpy.spark.executor_quarantine import Replacements, admit, held
from ksqlpy.spark.executors import members, problems, wait_for_slots
from ksqlpy.spark.masters import check_cluster, check_master, on_one_machine, one_jvm
from ksqlpy.spark.query_status import QueryStatus, State
from ksqlpy.spark.session import (
    begin_recovery,
    died_by_itself,
    end_session,
    has_session,
    is_alive,
    jvm_alive,
    kill_jvm,
    left_over,
    prepare_launch,
    start_session,
    worked_on,
)
from ksqlpy.spark.spare import Spare
from ksqlpy.spark.spec import QuerySpec, Retry
from ksqlpy.spark.warmup import WarmUp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Planned", "Supervisor"]

log = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
"""Time between looks at JVM, executors and queries."""

DEATH_SECONDS = 0.1
"""Time in which it is noticed that the JVM's process has ended."""

AWAY_SECONDS = 2.0
"""Brokers that do not answer for so long, twice, are away when the engine stops."""

STANDING_BY_SECONDS = 3.0
"""Time between looks of a standby at its executors and at the queries of the service."""

Planned = tuple[PersistentQuery, Kept, Source]
"""A query, its plan and its sink."""

ANSWER_SECONDS = 2.0
"""Time in which a JVM answers that works."""

EXECUTORS_SECONDS = 15.0
"""Time in which the executors of a new JVM have to come, before queries are started that may have to wait for them."""

NOTE_EVERY = 5
"""So many looks between looks at the partitions of topics and the checkpoints of queries."""


class Supervisor:
    """The queries of one engine, and the JVM that they run in."""

    session: SparkSession
    queries: Queries

    def __init__(self, brokers: Brokers, progress: Callable[[str], None]) -> None:
        self._brokers = brokers
        self._progress = progress
        self._own_jvm: Path | None = None
        self._paused_at: dict[str, float] = {}
        self._unstarted = False
        """Whether queries of a JVM that is gone are still to be started."""
        self._rehearsed: tuple[Sequence[Planned], Sequence[QuerySpec]] = ([], [])
        self._stopping = threading.Event()
        self._alone = one_jvm(brokers.config.get("ksqlpy.spark.master"))
        """Whether all tasks run in the driver's JVM."""
        self._scratch = Scratch(lambda: self.session, self.shared_folder)
        wanted = brokers.config.get("ksqlpy.warm.up") == "true"
        self._warm_ups = WarmUps(self._warm_up, self._members) if wanted else None
        self._replacements = Replacements()
        self.suspects = Suspects()
        self._prober = ThreadPoolExecutor(1, "probe")
        self._probe: Future[bool] | None = None
        spare = wanted and not self._alone and brokers.config.get("ksqlpy.spark.spare.driver") == "true"
        self._spares = Spares(self._make_spare) if spare else None

    # ------------------------------------------------------------ life

    def check(self) -> None:
        """Raises ConfigProblem where the properties do not fit the Spark master."""
        config = self._brokers.config
        master = config.get("ksqlpy.spark.master")
        check_master(master)
        check_cluster(master, config.get("ksqlpy.checkpoint.dir"), self._brokers.bootstrap)

    def start(self, folder: Path, stack: ExitStack) -> None:
        """Starts Spark in a folder; ``stack`` ends it. Raises EnvironmentProblem."""
        config = self._brokers.config
        shared = has_session()
        self.suspects.keep_in(folder / "suspects.json")
        left = left_over(folder / "spark")
        if any(w.state == "works" for w in left):
            self.suspects.died(left, own=False)  # whoever ended the server may have been out of memory
        self.session = self._new_session(folder / "spark", self._progress)
        if not shared:  # a process has one session; who made it ends it
            self._own_jvm = folder / "spark"
            stack.callback(lambda: end_session(self.session))
            if self._spares is not None:
                stack.callback(self._spares.close)
        given = config.get("ksqlpy.checkpoint.dir")
        # Services may share the folder, and number their queries alike.
        checkpoints = f"{given or folder / 'checkpoints'}/{config.get('ksql.service.id')}"
        self.queries = Queries(
            self.session,
            config.get("ksqlpy.spark.master"),
            checkpoints,
            partial(may_read, config=config),
            self.suspects.problem,
        )
        stack.callback(self.queries.stop_all)
        if not self._alone:
            self._look_at_executors(checkpoints)

    def _look_at_executors(self, checkpoints: str) -> None:
        """Raises EnvironmentProblem where executors cannot run queries; without any, queries wait for them."""
        self._progress("looking at the executors")
        for problem in problems(self.session, checkpoints):
            if problem.code in ("no-executors", "clock-skew"):
                log.warning("%s", problem.render())
            else:
                raise problem

    def wait_for(
        self, connecting: threading.Thread, foreseen: Callable[[], Sequence[Planned]], stack: ExitStack
    ) -> None:
        """Waits until ``connecting`` has the service; a standby is warm by then, driver and executors.

        ``foreseen``: the queries that it would start; ``stack`` ends what goes on of it.
        """
        while connecting.is_alive() and not self._brokers.standing_by.is_set():
            connecting.join(0.1)
        if connecting.is_alive() and self._warm_ups is not None:
            stack.callback(self._scratch.close)
            stack.callback(self._warm_ups.stop)
            while connecting.is_alive():
                ready = self._stand_by(self._warm_ups, lambda: not connecting.is_alive(), foreseen)
                self._brokers.stand_ready(ready=ready and connecting.is_alive())
                connecting.join(STANDING_BY_SECONDS)
            self._brokers.stand_ready(ready=False)
            if self._own_jvm is not None:
                begin_recovery()
        connecting.join()

    def _stand_by(self, warm_ups: WarmUps, over: Callable[[], bool], foreseen: Callable[[], Sequence[Planned]]) -> bool:
        """Warms up what is not warm yet; says when all is, and returns whether it is."""

        def specs() -> Sequence[QuerySpec]:
            planned = foreseen()
            if planned is not self._rehearsed[0]:  # the same list as long as nothing changes
                self._rehearsed = planned, [self._spec(*p) for p in planned]
            return list(filter(self.queries.fits, self._rehearsed[1]))  # others would wait for slots, and all with them

        try:
            if warm_ups.stand_by(over, specs):
                self._progress("ready to take over: another server runs this service")
                return True
        except Exception as e:  # whatever it is, the next look may find the world in order again
            log.info("the standby is not warm yet: %s", e)
        return False

    def _warm_up(
        self, busy: Callable[[], bool], executors: int, driver: bool, rehearsed: Sequence[QuerySpec]
    ) -> WarmUp:
        topic = self._brokers.topics.command_log
        connection, folder = self._brokers.connection, self._scratch.folder
        return WarmUp(self.session, connection, topic, folder, busy, executors, driver=driver, rehearsed=rehearsed)

    def _members(self) -> frozenset[str]:
        if self._alone:
            return frozenset()
        return frozenset(m.id for m in members(self.session)) - held(self.session)

    def _at_rest(self, spare: int) -> bool:
        """Whether all queries run, and have so many task slots to spare."""
        running = all(q.state is State.RUNNING and q.live.is_set() for q in self.queries.all())
        return running and self.queries.slots + spare <= self.queries.capacity

    def admit(self, stack: ExitStack) -> None:
        """Lets queries write by the register of producers; ``stack`` ends what answers those of executors."""
        register = self._brokers.register
        self.queries.register = register
        if register is not None and not self._alone:
            admissions = Admissions(lambda: self.session, register)
            admissions.start()
            stack.callback(admissions.stop)

    def _new_session(self, folder: Path, progress: Callable[[str], None] | None = None) -> SparkSession:
        return start_session(*self._jvm(folder, progress))

    def _make_spare(self) -> Spare:
        assert self._own_jvm is not None
        launch = prepare_launch(*self._jvm(self._own_jvm))
        return Spare(launch, self._brokers.connection, self._brokers.topics.command_log)

    def _jvm(
        self, folder: Path, progress: Callable[[str], None] | None = None
    ) -> tuple[str, str, Path, Callable[[str], None] | None, str, Mapping[str, str]]:
        """What a driver's JVM is started with, see :func:`ksqlpy.spark.session.start_session`."""
        config = self._brokers.config
        master, memory = config.get("ksqlpy.spark.master"), config.get("ksqlpy.spark.memory")
        return master, memory, folder, progress, config.get("ksqlpy.spark.java.options"), config.spark

    def watch(self, stack: ExitStack, turn: AbstractContextManager[object], run_all: Callable[[], None]) -> None:
        """Watches over JVM and queries until ``stack`` closes.

        ``turn``: that of changes, which must not meet the watch's own; ``run_all``: starts those that do not run.
        """
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended, turn, run_all), name="watch", daemon=True)
        watch.start()
        stack.callback(self._join_watch, watch)
        stack.callback(ended.set)
        if self._warm_ups is not None and not self._brokers.standing_by.is_set():
            stack.callback(self._scratch.close)
            self._warm_ups.begin(self.queries.any)
            stack.callback(self._warm_ups.stop)

    def _join_watch(self, watch: threading.Thread) -> None:
        """Waits for the watch; not when Spark is ended, as then only brokers that are away can hold it."""
        end = time.monotonic() + 60
        while watch.is_alive() and time.monotonic() < end and (self._own_jvm is None or jvm_alive()):
            watch.join(0.2)

    def _watch(self, ended: threading.Event, turn: AbstractContextManager[object], run_all: Callable[[], None]) -> None:
        """Sees to it, until the engine stops, that the JVM is there, and notes what Spark does not."""
        looked = deaths = 0
        while not self._ends(ended):
            looked += 1
            try:
                if self._brokers.lost:
                    log.error("%s", self._brokers.loss())
                    self.queries.stop_all()
                    return
                if self._own_jvm is not None and not is_alive(self.session) and not self._stopping.is_set():
                    deaths += 1
                    if self._brokers.hand_over():
                        continue
                    with turn:
                        self._revive(self._own_jvm)
                        self._run_again(run_all)
                elif self._unstarted:  # brokers were away
                    with turn:
                        self._run_again(run_all)
                else:
                    if not self._alone:
                        self._look_at_newcomers(turn)
                    elif self.suspects.tries:
                        with turn:
                            if self.suspects.look(worked_on(), at_rest=self.queries.settled):
                                run_all()
                    if looked % NOTE_EVERY == 0:
                        deaths = 0
                        self._look_at_topics(turn)
            except Exception as e:  # whatever it is, the next look may find the world in order again
                log.warning("the watch over queries: %s", e)
                self.queries.tell(e)
                ended.wait(min(30, deaths))

    def _ends(self, ended: threading.Event) -> bool:
        """Waits for the next look, which is due at once when the JVM has died; whether the watch is over."""
        end, died = time.monotonic() + WATCH_SECONDS, not jvm_alive()
        while not ended.wait(DEATH_SECONDS) and time.monotonic() < end:
            if not died and self._own_jvm is not None and not jvm_alive():
                break
        return ended.is_set()

    def _look_at_newcomers(self, turn: AbstractContextManager[object]) -> None:
        """Executors come at any time: queries without room get it, and what came is made warm."""
        if self._warm_ups is not None:
            lacking = self.queries.refused or self.queries.slots > self.queries.capacity
            live = self.queries.all_live
            admit(self.session, needed=lacking, live=live)
            there = frozenset(m.id for m in members(self.session))
            self._replacements.look(self.session, there, needed=lacking, live=live)
        if self.queries.refused:
            with turn:
                self.queries.start_refused()
        if self._warm_ups is not None:
            self._warm_ups.look(self._at_rest)
        if self._spares is not None and self._own_jvm is not None:
            self._spares.look(at_rest=bool(self.queries.all()) and self._at_rest(0))

    def _look_at_topics(self, turn: AbstractContextManager[object]) -> None:
        self.queries.note_sinks(self._brokers.kafka)
        with turn:
            self.queries.follow_partitions(self._brokers.kafka)
            self.queries.start_refused()

    def _revive(self, folder: Path) -> None:
        """Starts Spark's JVM again, which was killed or ran out of memory."""
        log.error("Spark's JVM is gone: it is started again, and all queries with it")
        begun = time.monotonic()
        self.suspects.died(worked_on(), own=died_by_itself())
        needed = self.queries.slots
        self._unstarted = True
        if self._warm_ups is not None:
            self._warm_ups.forget()
        self.queries.abandon()
        end_session(self.session)
        self.session = self._new_session(folder)
        self.queries.use(self.session)
        if self._spares is not None:
            self._spares.taken()
        started = time.monotonic()
        if not self._alone:
            wait_for_slots(self.session, needed, EXECUTORS_SECONDS)
        log.info("Spark's JVM took %.1f s, its slots %.1f s more", started - begun, time.monotonic() - started)

    def _run_again(self, run_all: Callable[[], None]) -> None:
        """Starts the queries of a JVM that is gone from their checkpoints; what fails is tried at the next look."""
        run_all()
        self._unstarted = False

    def stopping(self, over: threading.Event) -> None:
        """To be called when the engine begins to stop: ends the JVM when brokers are away, since all would wait.

        ``over``: set when it has stopped.
        """
        self._stopping.set()
        threading.Thread(target=self._hurry, args=(over,), name="hurry", daemon=True).start()

    def _hurry(self, over: threading.Event) -> None:
        missed = 0
        while not over.wait(WATCH_SECONDS):
            missed = 0 if self._brokers.kafka.answers(AWAY_SECONDS) else missed + 1
            if missed == 2 and not over.is_set() and self._own_jvm is not None:
                log.warning("Kafka at %s does not answer: Spark is ended without it", self._brokers.bootstrap)
                kill_jvm()
                return

    def cut_short(self) -> bool:
        """Ends Spark if brokers are away, so that a start or stop can end; whether they are."""
        if self._brokers.bootstrap and self._brokers.answer(AWAY_SECONDS):
            return False
        if self._own_jvm is not None:
            kill_jvm()
        return True

    @property
    def alive(self) -> bool:
        """Whether Spark's JVM answers, within :data:`ANSWER_SECONDS`: one that is stopped never does."""
        if self._probe is None or self._probe.done():
            self._probe = self._prober.submit(lambda: is_alive(self.session))
        try:
            return self._probe.result(ANSWER_SECONDS)
        except TimeoutError:
            return False

    # ------------------------------------------------------------ queries

    def run(self, query: PersistentQuery, kept: Kept, sink: Source) -> None:
        """Starts a persistent query, or lets it go on from its checkpoint; later, if others are to be tried first."""
        if not self.suspects.waits(query.id):
            self.queries.start(self._spec(query, kept, sink))

    def committed(self, query: PersistentQuery) -> bool:
        """Whether it reads committed records only, see :attr:`ksqlpy.config.Config.committed`."""
        return self._brokers.config.for_statement(query.properties).committed

    def _spec(self, query: PersistentQuery, kept: Kept, sink: Source) -> QuerySpec:
        brokers, plan = self._brokers, kept.plan
        found = brokers.kafka.partitions(query.offsets)  # a topic may have got more since
        partitions = {t: max(len(p), found.get(t, 0)) for t, p in query.offsets.items()}
        config = brokers.config.for_statement(query.properties)
        return QuerySpec(
            query.id,
            plan,
            sink,
            brokers.connection,
            query.offsets,
            partitions,
            query.shuffle_partitions,
            brokers.topics.dead_letters,
            self.queries.checkpoint(query.id),
            config.number("commit.interval.ms"),
            exactly_once=config.get("processing.guarantee") == "exactly_once",
            committed=config.committed,
            retry=Retry(
                config.number("ksql.query.retry.backoff.initial.ms") / 1000,
                config.number("ksql.query.retry.backoff.max.ms") / 1000,
            ),
            upgraded_from=query.upgraded_from,
            batch_ms=mode_of(plan, config).batch_ms,
            mark=query.checkpoint_mark,
            era=query.state_era,
            registry=brokers.registry,
            identity=kept.identity,
            idle_ms=config.number("max.task.idle.ms"),
            largest_record=config.number("ksqlpy.record.max.bytes"),
            skipped=query.skipped,
        )

    def run_push(
        self,
        query_id: str,
        asked: Asked,
        topic: str,
        offsets: Mapping[str, Mapping[str, int]],
        partitions: Mapping[str, int],
        width: int,
    ) -> None:
        """Starts a push query, which writes a topic of its own; ``width``: partitions of its shuffles."""
        brokers = self._brokers
        config = brokers.config.for_statement(asked.properties)
        self.queries.start(
            QuerySpec(
                query_id,
                asked.plan,
                topic,
                brokers.connection,
                offsets,
                partitions,
                width,
                brokers.topics.dead_letters,
                self.queries.checkpoint(query_id),
                config.number("commit.interval.ms"),
                exactly_once=False,  # nobody reads its topic after it has ended
                committed=config.committed,
                batch_ms=asked.mode.batch_ms,
                registry=brokers.registry,
                idle_ms=config.number("max.task.idle.ms"),
                largest_record=config.number("ksqlpy.record.max.bytes"),
            )
        )

    def check_room(self, plan: Plan, query: PersistentQuery) -> None:
        """Refuses a persistent query that does not fit; raises EngineProblem ``no-slots``."""
        self.queries.check_room(plan, self._brokers.topics.partitions(query.offsets), query.shuffle_partitions)

    def shared_folder(self) -> str | None:
        """A new folder that executors on other machines reach; None where all tasks run on this one."""
        if on_one_machine(self._brokers.config.get("ksqlpy.spark.master")):
            return None
        return self.queries.checkpoint(f"transient_pull_{uuid.uuid4().hex[:12]}")

    def pause(self, query_id: str) -> None:
        """Stops a query, whose state stays."""
        self._paused_at[query_id] = time.time()
        self.queries.stop(query_id, forget=False)

    def status(self, query_id: str, catalog: Catalog) -> QueryStatus:
        """The status of a query; since when it is paused is known of this engine's life only."""
        if ("query", query_id) in catalog.blocked:
            return QueryStatus(State.ERROR, None)
        query = catalog.queries.get(query_id)
        if query is not None and query.paused:
            return QueryStatus(State.PAUSED, self._paused_at.get(query_id))
        return self.queries.status(query_id)

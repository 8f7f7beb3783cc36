"""Who reads results and topics: pull and push queries, and PRINT."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ksqlpy.access import ASKS, EVERYTHING, Grants, Principal, Right, Thing, allowed, refusal
from ksqlpy.analysis.pull import PullRead
from ksqlpy.catalog import Catalog, Column, Owner, Source, query_named
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.reading.pieces import Piece
from ksqlpy.reading.push import Plain
from ksqlpy.runtime.behind import Behind, Figures
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import first_offsets
from ksqlpy.runtime.feeds import Feed
from ksqlpy.runtime.lookups import Lookups
from ksqlpy.runtime.plainpush import OwnPush, PlainPush, SharedPush, offsets_of
from ksqlpy.runtime.printing import Printing, Wanted
from ksqlpy.runtime.pull import Answer, Answering, Pulled, PullQuery
from ksqlpy.runtime.pulllimits import PullLimits
from ksqlpy.runtime.push import Asked, PushQuery
from ksqlpy.runtime.pythonfunctions import answered
from ksqlpy.runtime.subscriptions import NAME, Subscriptions, needs_query
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.runtime.waiting import wait_for_inputs
from ksqlpy.tables import Copies, Copy
from ksqlpy.tracing import begin
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers

__all__ = ["Reads"]

TOKENS = "ksql.query.push.v2.continuation.tokens.enabled"
LINGER = "ksqlpy.query.push.linger.ms"


_FeedKey = tuple[str, Source, bool, int, frozenset[Definition]]


def _answered(python: Callable[[], Workers], definition: Definition, arguments: Sequence[Any]) -> Any:
    """What a function in Python gives, as lookups and plain push queries need it: null where a call fails.

    Raises EngineProblem ``function-failed`` where ON_ERROR is 'stop'.
    """
    return answered(python(), definition, arguments)


class Reads:
    """The push queries and PRINTs that are open, and the copies of tables for pull queries."""

    copies: Copies

    def __init__(
        self,
        brokers: Brokers,
        supervisor: Supervisor,
        python: Callable[[], Workers],
        subscriptions: Subscriptions,
    ) -> None:
        self._brokers = brokers
        self._subscriptions = subscriptions
        self._supervisor = supervisor
        self.call_python = partial(_answered, python)
        self._push: dict[str, PushQuery | PlainPush] = {}
        self._printing: dict[str, Printing] = {}
        self._pulls: dict[str, PullQuery | None] = {}  # None until it has begun
        self._feeds: dict[_FeedKey, Feed] = {}
        self._feeding = threading.Lock()
        self._limits = PullLimits(brokers.config)
        self._lookups = Lookups(brokers.registry, self._limits)
        self._behind = Behind(supervisor, lambda: brokers.kafka)
        self._pulled = Pulled(
            lambda: supervisor.session,
            lambda: brokers.connection,
            brokers.registry,
            supervisor.shared_folder,
            self.call_python,
        )

    def start(self, folder: Path) -> None:
        """Makes the folder of an engine the place of the copies of tables."""
        self.copies = Copies(folder / "tables", self._brokers.kafka, self._brokers.registry)

    def look_up(
        self,
        sql: str,
        catalog: Catalog,
        properties: Mapping[str, object],
        analyze: Callable[[str], tuple[PullRead, set[str]]],
    ) -> tuple[tuple[Column, ...], list[list[Any]], Figures] | None:
        """Columns and rows of a lookup, at once; None for everything else: see :meth:`Lookups.answer`.

        Beside them how far the queries are that make the table.
        """
        figures: Figures = {}
        principal = ASKS.get()

        def copy_of(source: Source) -> Copy | None:
            nonlocal figures
            if not allowed(principal, Right.SELECT, Thing.source(source.name), catalog.grants):
                return None  # which is said when it is answered as every other
            config = self._brokers.config.for_statement(properties) if properties else self._brokers.config
            known = self._behind.known(source, catalog)
            if known is None:
                return None
            figures = _seen(known, catalog)
            return self.copies.ready(source, committed=config.committed)

        found = self._lookups.answer(sql, catalog, properties, analyze, copy_of)
        return None if found is None else (*found, figures)

    @property
    def pulling(self) -> int:
        """Pull queries that are being answered, lookups not among them."""
        return len(self._pulls)

    def pull(self, asked: Answering, catalog: Catalog) -> PullQuery:
        """Starts to answer a checked pull query; raises EngineProblem. The caller reads its rows and closes it."""
        closing, query_id = threading.Event(), f"pull_{uuid.uuid4().hex[:12]}"
        self._limits.enter()
        self._pulls[query_id] = None
        reading = begin("pull read", {"ksqlpy.source": asked.read.source.name, "ksqlpy.query": query_id})

        def ended() -> None:
            self._pulls.pop(query_id, None)
            self._limits.leave()
            reading.end()

        try:
            rows, pieces = self._pulled_rows(asked, catalog, closing)
            behind = {} if asked.wait else _seen(self._behind.now(_read(asked), catalog), catalog)
        except BaseException as e:
            reading.failed(e)
            ended()
            raise
        found = self._pulls[query_id] = PullQuery(query_id, asked, rows, closing, ended, behind, pieces)
        return found

    def _pulled_rows(
        self, asked: Answering, catalog: Catalog, closing: threading.Event
    ) -> tuple[Answer, Generator[Piece | None, None, None] | None]:
        """The rows, and the records where they may be read instead."""
        source = asked.read.source
        until = time.monotonic() + asked.wait if asked.wait else None
        if until is not None:
            wait_for_inputs(_read(asked), catalog, self._supervisor, self._brokers.kafka, until)
        if asked.read.access == "HISTORY":
            topics = sorted({s.topic for s in asked.read.typed.sources})
            partitions = self._brokers.topics.partitions(topics)
            self._supervisor.queries.check_room(asked.plan, partitions, max(partitions.values()))
            read = partial(self._brokers.kafka.offsets, partitions, committed=asked.committed)
            begin, end = (read(latest=latest) for latest in (False, True))
            return self._pulled.of_history(asked, begin, end, closing), None
        if source.kind == "TABLE":
            copy = self.copies.of(source, catalog.sources.values(), committed=asked.committed)
            if until is not None:
                copy.wait(self.copies.ends(copy), max(0.0, until - time.monotonic()))
            return self._pulled.of_table(asked, copy, closing), None
        partitions = self._brokers.topics.partitions([source.topic])
        kafka = self._brokers.kafka
        read = partial(kafka.offsets, partitions, committed=asked.committed)
        first, last = (read(latest=latest)[source.topic] for latest in (False, True))
        reader = partial(kafka.reader, ends=True, committed=asked.committed, ahead=False)
        pieces = self._pulled.in_bulk(asked, first, last, reader, closing)
        return self._pulled.of_stream(asked, first, last, reader, closing), pieces

    def push_plain(self, asked: Asked, how: Plain, token: str | None = None) -> PlainPush:
        """Starts a checked push query that needs no Spark; raises EngineProblem.

        Those of equal texts that begin now share one feed. ``token``: goes on where the query was that gave it.
        """
        self._check_room()
        config = self._brokers.config.for_statement(asked.properties)
        sources = tuple({r.source.name: r.source for r in asked.plan.relations}.values())
        source = sources[0]
        query_id = f"SCALABLE_PUSH_QUERY_{source.name[:100]}_{uuid.uuid4().hex[:12]}"  # as ksqlDB begins it
        live = source.kind == "STREAM" or config.is_set("auto.offset.reset")
        push: PlainPush
        linger = config.number(LINGER)
        tokens = token is not None or config.get(TOKENS) == "true"
        if name := config.get(NAME):
            reader = partial(self._brokers.kafka.reader, committed=config.committed, ahead=False, linger=linger)
            partitions = self._brokers.topics.partitions([source.topic])
            first = partial(first_offsets, self._brokers, sources, partitions, config)
            push = self._subscriptions.open(name, query_id, asked, how, reader, first, self._forget)
        elif live and config.get("auto.offset.reset") == "latest" and not tokens:
            push = self._shared(query_id, asked, how, committed=config.committed, linger=linger)
        else:
            partitions = self._brokers.topics.partitions([source.topic])
            if token is not None:
                offsets = offsets_of(token, source.topic, partitions[source.topic])
            else:
                offsets = first_offsets(self._brokers, sources, partitions, config)
            consumer = self._brokers.kafka.reader(committed=config.committed, ahead=False, linger=linger)
            push = OwnPush(query_id, asked, how, offsets, consumer, self._forget, tokens=tokens)
        push.lingers = linger > 0
        self._push[query_id] = push
        return push

    def _shared(self, query_id: str, asked: Asked, how: Plain, *, committed: bool, linger: int) -> SharedPush:
        source = asked.plan.relations[0].source
        key = (asked.statement, source, committed, linger, how.functions)
        with self._feeding:
            feed = self._feeds.get(key)
            push = SharedPush(query_id, asked, feed, self._forget) if feed is not None else None
            if push is None or not push.joined:
                partitions = self._brokers.topics.partitions([source.topic])
                offsets = self._brokers.kafka.offsets(partitions, latest=True, committed=committed)
                name = f"{source.name}_{uuid.uuid4().hex[:8]}"
                reader = self._brokers.kafka.reader(committed=committed, linger=linger)
                feed = Feed(name, how, offsets, reader, partial(self._fed, key))
                self._feeds[key] = feed
                push = SharedPush(query_id, asked, feed, self._forget)
        return push

    def _fed(self, key: _FeedKey, feed: Feed) -> None:
        with self._feeding:
            if self._feeds.get(key) is feed:
                del self._feeds[key]

    def push(self, asked: Asked) -> PushQuery:
        """Starts a checked push query as a query of Spark; raises EngineProblem.

        The caller reads its rows and closes it.
        """
        self._check_room()
        config = self._brokers.config.for_statement(asked.properties)
        if config.get(NAME):
            raise needs_query()
        sources = tuple({r.source.name: r.source for r in asked.plan.relations}.values())
        partitions = self._brokers.topics.partitions([s.topic for s in sources])
        width = config.number("ksql.query.parallelism") or max(partitions.values())
        self._supervisor.queries.check_room(asked.plan, partitions, width)
        query_id = f"transient_{sources[0].name[:100]}_{uuid.uuid4().hex[:12]}"  # part of a topic's name
        topic = self._brokers.topics.make_transient(query_id)
        offsets = first_offsets(self._brokers, sources, partitions, config)
        queries = self._supervisor.queries
        queries.start(self._supervisor.specs.push(query_id, asked, topic, offsets, partitions, width))
        current = partial(queries.get, query_id)
        linger = config.number(LINGER)
        push = PushQuery(query_id, asked, current, topic, self._brokers.kafka.reader(linger=linger), self._closed)
        push.lingers = linger > 0
        self._push[query_id] = push
        return push

    def print(self, asked: Wanted, partitions: int, config: Config) -> Printing:
        """Starts a checked PRINT; raises EngineProblem. The caller reads its lines and closes it."""
        query_id = f"print_{uuid.uuid4().hex[:12]}"
        linger = config.number(LINGER)
        reader = self._brokers.kafka.reader(committed=config.committed, linger=linger)
        found = Printing(query_id, asked, partitions, reader, self._brokers.registry, self._printed)
        found.lingers = linger > 0
        self._printing[query_id] = found
        return found

    def _printed(self, printing: Printing) -> None:
        self._printing.pop(printing.id, None)

    def _check_room(self) -> None:
        """Raises EngineProblem ``too-many-queries`` (40003) where another push query would be one too many."""
        most = self._brokers.config.number("ksql.max.push.queries")
        if len(self._push) >= most:
            raise EngineProblem(
                "too-many-queries",
                f"{most} push queries are open, and no more may be",
                hint="close one, or raise the server property ksql.max.push.queries",
                error_code=40003,
            )

    def _forget(self, push: PlainPush) -> None:
        self._push.pop(push.id, None)

    def _closed(self, push: PushQuery) -> None:
        self._push.pop(push.id, None)
        self._supervisor.queries.stop(push.id, forget=True)
        with contextlib.suppress(KsqlError):
            self._brokers.topics.remove_transient(push.id)

    @property
    def open(self) -> tuple[PushQuery | PlainPush, ...]:
        """The push queries that are open."""
        return tuple(self._push.values())

    def close(self, query_id: str) -> bool:
        """Ends a push query or a PRINT; False if there is none of that id."""
        open_: dict[str, PushQuery | PlainPush | Printing] = {**self._push, **self._printing}
        found = query_named(query_id, open_)
        if found is None:
            return False
        open_[found].close()
        return True

    def end_forbidden(self, grants: Grants) -> None:
        """Ends what its principal may read no longer; its reader gets the refusal."""
        open_: list[PushQuery | PlainPush | Printing | PullQuery]
        open_ = [*self.open, *self._printing.values(), *filter(None, list(self._pulls.values()))]
        for read in open_:
            principal = read.asked.principal
            lacks = [n for n in read.asked.needs if not allowed(principal, n.right, n.thing, grants)]
            if principal is not None and lacks:
                read.end(refusal(principal, lacks[0]))

    def may_close(self, query_id: str, principal: Principal | None, grants: Grants) -> bool:
        """Whether somebody may end a push query or a PRINT: his own, or with the right to operate all."""
        open_: dict[str, PushQuery | PlainPush | Printing] = {**self._push, **self._printing}
        found = query_named(query_id, open_)
        if found is None or allowed(principal, Right.OPERATE, EVERYTHING, grants):
            return True
        return Owner.is_same(Owner.of(open_[found].asked.principal), Owner.of(principal))

    def close_all(self) -> None:
        """Ends all."""
        for push in self.open:
            push.close()
        for printing in tuple(self._printing.values()):
            printing.close()
        self._pulled.close()
        if hasattr(self, "copies"):
            self.copies.close()


def _seen(figures: Figures, catalog: Catalog) -> Figures:
    """Without those of queries that who asks does not see."""
    view = catalog.seen_by(ASKS.get())
    return figures if view.viewer is None else {q: left for q, left in figures.items() if q in view.queries}


def _read(asked: Answering) -> tuple[Source, ...]:
    """What a pull query reads."""
    return asked.read.typed.sources if asked.read.access == "HISTORY" else (asked.read.source,)

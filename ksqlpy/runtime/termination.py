"""The end of a service: its queries, the topics that these have made, its own topics, and what it has on disks.

Source of the rules: ksqlDB, "Terminate a cluster". An end that is cut short is ended by the next one: queries are
terminated one by one, as TERMINATE does, and the command log goes last.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path

from ksqlpy.catalog import Catalog
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.reads import Reads
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.folder_owner import FILE
from ksqlpy.topicnames import is_internal

__all__ = ["generated_topics", "patterns_of", "terminate", "terminated"]

log = logging.getLogger(__name__)


def patterns_of(texts: Sequence[str]) -> list[re.Pattern[str]]:
    """Names or regular expressions of topics; raises ConfigProblem ``bad-request`` for a text that is neither."""
    found = []
    for text in texts:
        try:
            found.append(re.compile(text))
        except (re.error, RecursionError, OverflowError) as e:
            said = f"{text!r} in deleteTopicList is no regular expression: {e}"
            raise ConfigProblem("bad-request", said, hint='send {"deleteTopicList": ["FOO", "bar.*"]}') from e
    return found


def generated_topics(catalog: Catalog, patterns: Sequence[re.Pattern[str]]) -> list[str]:
    """The topics of streams and tables that queries have made, as far as a pattern names all of one."""
    made = {s.topic for s in catalog.sources.values() if s.query is not None and not is_internal(s.topic)}
    return sorted(t for t in made if any(p.fullmatch(t) for p in patterns))


def terminate(
    patterns: Sequence[re.Pattern[str]],
    brokers: Brokers,
    service: CatalogService,
    supervisor: Supervisor,
    reads: Reads,
    folder: Path,
) -> list[str]:
    """Ends all, and gives the topics of sources that were deleted. Raises EngineProblem; then it may be tried again."""
    with service.lock:
        brokers.check_owner()
        deleted = generated_topics(service.catalog, patterns)
        reads.close_all()
        for query_id in list(service.catalog.queries):
            service.terminate(query_id)
        there = brokers.kafka.topics()
        brokers.kafka.delete_topics([t for t in deleted if t in there])
        brokers.topics.remove_transients()
        # What lies on disks belongs to a command log that there is no more.
        supervisor.queries.checkpoints.give_up()
        (folder / FILE).unlink(missing_ok=True)
        own = (brokers.topics.producers, brokers.topics.command_log)
        brokers.kafka.delete_topics([t for t in own if t in there])
        log.warning("the service was terminated; topics deleted with it: %s", ", ".join(deleted) or "none")
        return deleted


def terminated() -> EngineProblem:
    """Why the engine can do nothing any more, which is no fault."""
    problem = EngineProblem("service-terminated", "the service was terminated by POST /ksql/terminate")
    problem.exit_code = 0
    return problem

"""Migrations applied: which ones are due, one after the other, with what happened noted on the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError, Span
from ksqlpy.project.apply import check_on_server
from ksqlpy.project.files import File
from ksqlpy.project.metadata import CURRENT, NONE, Event, Metadata
from ksqlpy.project.migrations import Migration, steps_of
from ksqlpy.project.plan import Step
from ksqlpy.project.state import Server

__all__ = ["Selection", "apply_migrations", "current_version", "due", "resolve", "validate"]


@dataclass(frozen=True)
class Selection:
    """Which migrations are wanted: the next, all, all until a version, or one version."""

    following: bool = False
    until: int | None = None
    version: int | None = None


def current_version(events: Mapping[str, Event]) -> int | None:
    """The last version that was migrated; None if there is none."""
    last = events.get(CURRENT)
    if last is None:
        return None
    version = last.version if last.state == "MIGRATED" else last.previous
    return None if version in ("", NONE) else int(version)


def due(migrations: Sequence[Migration], events: Mapping[str, Event], wanted: Selection) -> list[Migration]:
    """The migrations to apply, in order; raises ConfigProblem for a version that is not there or was passed."""
    done = current_version(events) or 0
    left = [m for m in migrations if m.version > done]
    if wanted.version is not None or wanted.until is not None:
        number = wanted.version if wanted.version is not None else wanted.until
        if all(m.version != number for m in migrations):
            raise ConfigProblem("no-such-version", f"there is no migration of version {number}")
        if all(m.version != number for m in left):
            raise ConfigProblem("version-passed", f"version {number} is not above the current one, {done}")
        if wanted.version is not None:
            return [m for m in left if m.version == number]
        return [m for m in left if m.version <= (number or 0)]
    return left[:1] if wanted.following else left


def validate(migrations: Sequence[Migration], events: Mapping[str, Event]) -> int:
    """Compares the files of all applied versions with what was noted of them; returns how many there are.

    Raises ConfigProblem ``file-gone`` or ``file-changed``.
    """
    files = {m.version: m for m in migrations}
    count, version = 0, current_version(events)
    while version is not None:
        event, file = events.get(str(version)), files.get(version)
        if event is None:
            raise EngineProblem("event-gone", f"the server has no event of version {version}, which was migrated")
        if file is None:
            raise ConfigProblem("file-gone", f"version {version}, {event.name}, was migrated, and has no file any more")
        if file.checksum != event.checksum:
            raise ConfigProblem(
                "file-changed",
                f"{file.path.name} is not as it was when it was migrated",
                hint="put it back, and change what it made in a new migration",
            )
        count += 1
        version = None if event.previous in ("", NONE) else int(event.previous)
    return count


def apply_migrations(
    server: Server,
    metadata: Metadata,
    migrations: Sequence[Migration],
    wanted: Selection,
    variables: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    dry_run: bool = False,
) -> int:
    """Applies what is due, and tells each step; returns how many migrations that were.

    A file is checked on the server as a whole before its first statement. The first error ends it and is noted; the
    next time its file is run again. With ``dry_run`` nothing is done: the statements of all files are checked in a row.
    Raises KsqlError.
    """
    events = metadata.read()
    last = events.get(CURRENT)
    if last is not None and last.state == "RUNNING":
        raise ConfigProblem(
            "migration-running",
            f"version {last.version} is being applied, or its end was not noted",
            hint=f"if nobody applies it, say how it ended: ksqlpy migrate resolve {last.version} migrated|error",
        )
    validate(migrations, events)
    todo = due(migrations, events, wanted)
    read = [(m, steps_of(m, variables)) for m in todo]
    if dry_run:
        check_on_server(server, [step for _, steps in read for _, _, step in steps])
    for migration, steps in read:
        tell(f"{'would apply' if dry_run else 'applying'} version {migration.version}: {migration.name}")
        if dry_run:
            for _, _, step in steps:
                tell(f"  {step.sql}")
            continue
        previous = current_version(events)
        event = Event(
            str(migration.version),
            migration.name,
            "RUNNING",
            migration.checksum,
            _now(),
            "",
            NONE if previous is None else str(previous),
        )
        check_on_server(server, [step for _, _, step in steps])
        metadata.write(event)
        try:
            _run(server, steps, tell)
        except BaseException as e:
            reason = e.message if isinstance(e, KsqlError) else "interrupted"
            metadata.write(replace(event, state="ERROR", completed_on=_now(), error_reason=reason))
            raise
        event = replace(event, state="MIGRATED", completed_on=_now())
        metadata.write(event)
        events = {**events, event.version: event, CURRENT: event}
    return len(todo)


def resolve(metadata: Metadata, version: int, state: str) -> None:
    """Notes how a version ended whose end was not noted; raises ConfigProblem ``not-running``."""
    last = metadata.read().get(CURRENT)
    if last is None or last.state != "RUNNING" or last.version != str(version):
        raise ConfigProblem("not-running", f"version {version} is not being applied", hint="ksqlpy migrate info")
    reason = "N/A" if state == "MIGRATED" else "its end was not noted"
    metadata.write(replace(last, state=state, completed_on=_now(), error_reason=reason))


def _run(server: Server, steps: Sequence[tuple[File, int, Step]], tell: Callable[[str], None]) -> None:
    for file, start, step in steps:
        try:
            server.statements(step.sql, step.properties)
        except KsqlError as e:
            # With values of variables in it the statement's text is another one, and its places are not the file's.
            if e.span is not None and file.sql.startswith(step.sql, start):
                e.span, e.sql = Span(e.span.start + start, e.span.end + start), file.sql
            raise
        tell(f"  {step.sql}")


def _now() -> str:
    return str(int(time.time() * 1000))

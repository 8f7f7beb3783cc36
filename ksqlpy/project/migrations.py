"""The files of migrations: a folder in the layout of ksqlDB's tool ``ksql-migrations``.

    project/
      ksql-migrations.properties     where the server is, and how what was done is kept
      migrations/
        V000001__rides.sql           version 1, with the name "rides"
        V000002__busy_cities.sql

Source of the rules: ksqlDB manual, "Manage metadata schemas" and "ksql-migrations".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem, ConfigProblem, Span
from ksqlpy.project.files import File, read_file, writing
from ksqlpy.project.plan import Step
from ksqlpy.project.statements import Refused, statements_of
from ksqlpy.runtime.statements import names, statement_of
from ksqlpy.sql import to_sql

__all__ = [
    "PROPERTIES_FILE",
    "Migration",
    "Project",
    "create",
    "migrations_of",
    "new_project",
    "read_project",
    "steps_of",
]

PROPERTIES_FILE = "ksql-migrations.properties"

_NAME = re.compile(r"V(\d{6})__(.+)\.sql\Z")
_MAX_VERSION = 999_999


@dataclass(frozen=True)
class Project:
    """What the properties file says.

    ``url``: of the server; ``folder``: with the migrations; ``stream``, ``table``: names of what keeps the state, and
    ``stream_topic``, ``table_topic`` their topics, with ``replicas`` copies.
    """

    url: str
    folder: Path
    stream: str
    table: str
    stream_topic: str
    table_topic: str
    replicas: int


@dataclass(frozen=True)
class Migration:
    """A file of a version, from 1."""

    version: int
    name: str
    path: Path

    @property
    def checksum(self) -> str:
        """MD5 of the file's bytes, as ksql-migrations has it."""
        return hashlib.md5(self.path.read_bytes(), usedforsecurity=False).hexdigest()


def new_project(folder: Path, url: str) -> None:
    """Makes the folders and the properties file; raises ConfigProblem ``project-exists``, ``file-unwritable``."""
    file = folder / PROPERTIES_FILE
    if file.exists():
        raise ConfigProblem("project-exists", f"there is a project in {folder} already")
    with writing(file):
        (folder / "migrations").mkdir(parents=True, exist_ok=True)
        file.write_text(f"ksql.server.url={url}\n{_TEMPLATE}", encoding="utf-8")


_TEMPLATE = """
# What has been done is kept on the server, in this stream and this table:
# ksql.migrations.stream.name=MIGRATION_EVENTS
# ksql.migrations.table.name=MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.stream.topic.name=default_ksql_MIGRATION_EVENTS
# ksql.migrations.table.topic.name=default_ksql_MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.topic.replicas=1

# The folder of the migrations; relative to this file.
# ksql.migrations.dir=migrations
"""


def read_project(file: Path, service: str | None = None) -> Project:
    """The project of a properties file; raises ConfigProblem.

    ``service``: the id of the server's service, with which the names of the topics begin.
    """
    if not file.exists():
        hint = "ksqlpy migrate new-project DIR URL makes one; -c FILE names it"
        raise ConfigProblem("no-project", f"there is no file {file}", hint=hint)
    values = Config.from_file(file)
    url = values.get("ksql.server.url", "")
    if not url:
        raise ConfigProblem("no-url", f"{file} has no ksql.server.url", hint="it is the URL of the server")

    def get(name: str, default: str) -> str:
        return values.get(f"ksql.migrations.{name}", "") or default

    stream, table = get("stream.name", "MIGRATION_EVENTS"), get("table.name", "MIGRATION_SCHEMA_VERSIONS")
    replicas = get("topic.replicas", "1")
    if not replicas.isdigit() or int(replicas) < 1:
        raise ConfigProblem("invalid-property", f"ksql.migrations.topic.replicas is {replicas!r}, not a number above 0")
    prefix = f"{service or 'default_'}ksql_"
    return Project(
        url,
        file.parent / get("dir", "migrations"),
        stream,
        table,
        get("stream.topic.name", f"{prefix}{stream}"),
        get("table.topic.name", f"{prefix}{table}"),
        int(replicas),
    )


def migrations_of(project: Project) -> list[Migration]:
    """The files by version; raises ConfigProblem ``no-such-folder``, ``bad-migration`` or ``duplicate-version``."""
    if not project.folder.is_dir():
        raise ConfigProblem("no-such-folder", f"there is no folder {project.folder}")
    found: dict[int, Migration] = {}
    for path in sorted(project.folder.glob("*.sql")):
        match = _NAME.match(path.name)
        if match is None or int(match[1]) == 0:
            raise ConfigProblem("bad-migration", f"{path} is no name of a migration", hint="one is V000001__name.sql")
        version = int(match[1])
        if version in found:
            raise ConfigProblem("duplicate-version", f"{found[version].path.name} and {path.name} are one version")
        found[version] = Migration(version, match[2].replace("_", " "), path)
    return [found[v] for v in sorted(found)]


def create(project: Project, name: str, version: int | None = None) -> Path:
    """Makes an empty file for the next version, or for the one wanted; raises ConfigProblem."""
    migrations = migrations_of(project)
    number = version if version is not None else (migrations[-1].version + 1 if migrations else 1)
    if not 1 <= number <= _MAX_VERSION:
        raise ConfigProblem("bad-version", f"versions go from 1 to {_MAX_VERSION}, not {number}")
    if any(m.version == number for m in migrations):
        raise ConfigProblem("duplicate-version", f"there is a version {number} already")
    words = re.sub(r"[^\w-]+", "_", name.strip()).strip("_")
    if not words:
        raise ConfigProblem("bad-name", "a migration needs a name")
    path = project.folder / f"V{number:06}__{words}.sql"
    with writing(path):
        path.write_text("", encoding="utf-8")
    return path


def steps_of(migration: Migration, variables: Mapping[str, str]) -> list[tuple[File, int, Step]]:
    """What a migration runs: its file, the place of each statement there, and the statement.

    SET and DEFINE hold to the end of the file. Raises KsqlError for what is no SQL or belongs into no migration.
    """
    return list(_steps(read_file(migration.path), variables))


def _steps(file: File, variables: Mapping[str, str]) -> Iterator[tuple[File, int, Step]]:
    for part in statements_of(file, variables, any_property=True):
        if isinstance(part, Refused):
            raise part.error
        node, start = part.parsed.node, part.parsed.start
        if part.of_session:
            continue
        if not statement_of(node).migrates:
            words = " ".join(to_sql(node).split()[:2])
            raise AnalysisProblem(
                "not-in-migration",
                f"a migration does not hold {words}",
                span=Span(start, start + len(words)),
                sql=file.sql,
                hint=f"it makes, changes, fills and drops: {', '.join(names(lambda s: s.migrates))}, SET",
            )
        yield file, start, Step(part.parsed.text, part.properties)

"""Migrations: which are due, what is noted of them, what is refused; against a server that keeps events only."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.errors import ConfigProblem, KsqlError, StatementError
from ksqlpy.project.metadata import CURRENT, Event, Metadata
from ksqlpy.project.migrate import Selection, apply_migrations, current_version, resolve, validate
from ksqlpy.project.migrations import create, migrations_of, new_project, read_project, steps_of
from ksqlpy.sql import nodes, parse
from tests.project.engine_server import Ran


class EventServer:
    """Takes all statements and keeps what is inserted; ``refuse``: words of a statement that fails when it is run."""

    def __init__(self) -> None:
        self.events: list[list[str]] = []
        self.done: list[str] = []
        self.refuse = "\0"
        self.closed: list[str] = []

    def statements(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        parsed = parse(sql)
        last = parsed[-1]
        if isinstance(last.node, nodes.DropSource) and last.node.this.this.startswith("KSQLPY_CHECK_"):
            raise StatementError("unknown-source", f"there is no {last.node.this.this}")
        for statement in parsed:
            if isinstance(statement.node, nodes.Show):
                return [{"streams": [{"name": "MIGRATION_EVENTS"}]}]
            if isinstance(statement.node, nodes.InsertValues) and statement.node.this.this == "MIGRATION_EVENTS":
                self.events.append([e.this for e in statement.node.expressions])
            elif self.refuse in statement.text:
                raise StatementError("refused", "that cannot be", span=None)
            else:
                self.done.append(statement.text)
        return []

    def push(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> Generator[Any, None, None]:
        assert properties == {"auto.offset.reset": "earliest"}
        yield {"queryId": "q"}
        yield from list(self.events)
        raise AssertionError("read on behind its own event")

    def close_query(self, query_id: str) -> bool:
        self.closed.append(query_id)
        return True


class World:
    """A project with four migrations."""

    def __init__(self, folder: Path) -> None:
        new_project(folder, "http://127.0.0.1:1")
        self.project = read_project(folder / "ksql-migrations.properties")
        for number in (1, 2, 3, 5):
            path = create(self.project, f"step {number}!", number if number == 5 else None)
            path.write_text(f"CREATE STREAM s{number} (a INT) WITH (kafka_topic = '${{t}}', value_format = 'JSON');")
        self.server = EventServer()
        self.metadata = Metadata(self.server, self.project)

    def apply(self, *, dry_run: bool = False, **wanted: Any) -> list[str]:
        self.server.done.clear()
        self.told: list[str] = []
        files, selection = migrations_of(self.project), Selection(**wanted)
        tell = self.told.append
        apply_migrations(self.server, self.metadata, files, selection, {"t": "x"}, tell, dry_run=dry_run)
        return [s.split()[2] for s in self.server.done]

    def events(self) -> dict[str, Event]:
        return self.metadata.read()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "p")


def test_files_are_laid_out_as_by_ksql_migrations(world: World) -> None:
    names = [m.path.name for m in migrations_of(world.project)]
    assert names == ["V000001__step_1.sql", "V000002__step_2.sql", "V000003__step_3.sql", "V000005__step_5.sql"]
    assert migrations_of(world.project)[0].name == "step 1"
    assert world.project.stream_topic == "default_ksql_MIGRATION_EVENTS"


def test_each_version_is_applied_once(world: World) -> None:
    assert world.apply(following=True) == ["s1"]
    assert world.apply(until=3) == ["s2", "s3"]
    assert world.apply(version=5) == ["s5"]
    assert world.apply() == []
    events = world.events()
    assert current_version(events) == 5
    assert [(events[v].state, events[v].previous) for v in "1235"] == [
        ("MIGRATED", "<none>"),
        ("MIGRATED", "1"),
        ("MIGRATED", "2"),
        ("MIGRATED", "3"),
    ]
    assert validate(migrations_of(world.project), events) == 4
    assert set(world.server.closed) == {"q"}


def test_a_dry_run_does_nothing(world: World) -> None:
    assert world.apply(dry_run=True, until=2) == []
    assert world.told == [
        "would apply version 1: step 1",
        "  CREATE STREAM s1 (a INT) WITH (kafka_topic = 'x', value_format = 'JSON');",
        "would apply version 2: step 2",
        "  CREATE STREAM s2 (a INT) WITH (kafka_topic = 'x', value_format = 'JSON');",
    ]
    assert current_version(world.events()) is None


@pytest.mark.parametrize(
    ("wanted", "code"),
    [({"version": 4}, "no-such-version"), ({"until": 9}, "no-such-version"), ({"version": 1}, "version-passed")],
)
def test_versions_that_cannot_be_applied(world: World, wanted: dict[str, int], code: str) -> None:
    world.apply(until=2)
    with pytest.raises(ConfigProblem) as refused:
        world.apply(**wanted)
    assert refused.value.code == code


def test_an_error_is_noted_and_the_version_tried_again(world: World) -> None:
    world.server.refuse = "s2"
    with pytest.raises(KsqlError):
        world.apply()
    events = world.events()
    assert (events["2"].state, events["2"].error_reason, events["2"].previous) == ("ERROR", "that cannot be", "1")
    assert current_version(events) == 1
    world.server.refuse = "\0"
    assert world.apply(following=True) == ["s2"]
    assert current_version(world.events()) == 2


def test_what_was_killed_is_not_run_again_unasked(world: World) -> None:
    world.apply(following=True)
    running = Event("2", "step 2", "RUNNING", "c", "1", "", "1")
    world.metadata.write(running)
    with pytest.raises(ConfigProblem) as refused:
        world.apply()
    assert refused.value.code == "migration-running" and "resolve 2" in (refused.value.hint or "")
    with pytest.raises(ConfigProblem):
        resolve(world.metadata, 3, "ERROR")
    resolve(world.metadata, 2, "ERROR")
    assert world.events()[CURRENT].state == "ERROR"
    assert world.apply(following=True) == ["s2"]


def test_files_of_applied_versions_stay_as_they_are(world: World) -> None:
    world.apply(until=2)
    files = [m.path for m in migrations_of(world.project)]
    text = files[0].read_text()
    files[0].write_text(f"{text} ")
    with pytest.raises(ConfigProblem, match="not as it was"):
        world.apply()
    files[0].unlink()
    with pytest.raises(ConfigProblem, match="has no file any more"):
        validate(migrations_of(world.project), world.events())
    files[0].write_text(text)
    assert validate(migrations_of(world.project), world.events()) == 2


def test_a_migration_holds_no_questions(world: World) -> None:
    file = migrations_of(world.project)[0].path
    file.write_text("SET 'only.the.server.knows' = '1';\nSHOW STREAMS;")
    with pytest.raises(StatementError) as refused:
        steps_of(migrations_of(world.project)[0], {})
    assert refused.value.code == "not-in-migration"
    assert refused.value.span is not None and refused.value.span.position(file.read_text()) == (2, 1)
    file.write_text("SET 'a' = '1';\nDEFINE n = 't';\nDROP STREAM ${n};\nUNSET 'a';\nDROP TABLE t;")
    [(_, _, first), (_, _, second)] = steps_of(migrations_of(world.project)[0], {})
    assert (first.sql, first.properties) == ("DROP STREAM `T`;", {"a": "1"})
    assert (second.sql, second.properties) == ("DROP TABLE t;", {})


def test_projects_that_are_wrong(command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "p" / "ksql-migrations.properties"

    def refused(*arguments: object) -> str:
        code, _, err = command("--wait", 0, "migrate", "-c", file, *arguments)
        assert code == 1
        return err.split("]")[0].removeprefix("error[")

    assert refused("info") == "no-project"
    assert command("migrate", "new-project", tmp_path / "p", "http://127.0.0.1:1")[0] == 0
    assert refused("new-project", tmp_path / "p", "http://127.0.0.1:1") == "project-exists"
    assert refused("info") == "server-unavailable"
    assert command("migrate", "-c", file, "create", "one")[1].endswith("V000001__one.sql\n")
    assert refused("create", "again", "-v", 1) == "duplicate-version"
    assert refused("create", "far", "-v", 1_000_000) == "bad-version"
    assert refused("create", "!?") == "bad-name"
    (tmp_path / "p" / "migrations" / "V1__short.sql").write_text("")
    assert refused("create", "next") == "bad-migration"
    file.write_text("ksql.migrations.dir=elsewhere\n")
    assert refused("create", "next") == "no-url"
    file.write_text("ksql.server.url=http://127.0.0.1:1\nksql.migrations.dir=elsewhere\n")
    assert refused("create", "next") == "no-such-folder"
    file.write_text("ksql.server.url=http://127.0.0.1:1\nksql.migrations.topic.replicas=x\n")
    assert refused("create", "next") == "invalid-property"
    assert command("migrate", "apply")[0] == 2


class EventClient(EventServer):
    """The same as a client."""

    def __enter__(self) -> EventClient:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def info(self) -> dict[str, str]:
        return {"ksqlServiceId": "here_"}


def test_the_command_tells_what_was_done(
    world: World, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = EventClient()
    monkeypatch.setattr("ksqlpy.client.Client", lambda url: client)
    times = iter(range(1_700_000_000, 1_700_000_100))
    monkeypatch.setattr("ksqlpy.project.migrate._now", lambda: f"{next(times)}000")
    migrate = ("migrate", "-c", world.project.folder.parent / "ksql-migrations.properties")
    assert command(*migrate, "apply", "--until", 2, "-d", "t=x")[1].splitlines() == [
        "applying version 1: step 1",
        "  CREATE STREAM s1 (a INT) WITH (kafka_topic = 'x', value_format = 'JSON');",
        "applying version 2: step 2",
        "  CREATE STREAM s2 (a INT) WITH (kafka_topic = 'x', value_format = 'JSON');",
        "2 migrations applied",
    ]
    client.refuse = "s3"
    code, _, err = command(*migrate, "apply", "--next", "-d", "t=x")
    assert (code, err) == (1, "error[refused]: that cannot be\n")
    assert command(*migrate, "validate")[1] == "2 applied migrations, all files as they were\n"
    current, *lines = command(*migrate, "info")[1].splitlines()
    assert current == "Current version: 2"
    assert [re.split("  +", line) for line in lines] == [
        ["Version", "Name", "State", "Previous Version", "Started On", "Completed On", "Error Reason"],
        ["1", "step 1", "MIGRATED", "<none>", "2023-11-14T22:13:20.000+00:00", "2023-11-14T22:13:21.000+00:00", "N/A"],
        ["2", "step 2", "MIGRATED", "1", "2023-11-14T22:13:22.000+00:00", "2023-11-14T22:13:23.000+00:00", "N/A"],
        [
            "3",
            "step 3",
            "ERROR",
            "2",
            "2023-11-14T22:13:24.000+00:00",
            "2023-11-14T22:13:25.000+00:00",
            "that cannot be",
        ],
        ["5", "step 5", "PENDING", "N/A", "N/A", "N/A", "N/A"],
    ]
    assert len({line.index(word) for line, word in zip(lines, ("State", "MIGRATED"), strict=False)}) == 1
    client.events.append(["CURRENT", "3", "step 3", "RUNNING", "c", "1", "", "2", "N/A"])
    assert "error[migration-running]" in command(*migrate, "apply", "--all")[2]
    assert command(*migrate, "resolve", 3, "migrated")[1] == "version 3: MIGRATED\n"
    assert command(*migrate, "initialize-metadata")[0] == 0
    assert "WITH (KAFKA_TOPIC = 'here_ksql_MIGRATION_EVENTS'" in client.done[-2]

"""ksqlpy users: the file of who may log in."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.server.auth.users import users_of, verified

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What stands on standard input."""

    def feed(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return feed


def test_add_list_change_and_remove(ksqlpy: Run, typed: Callable[[str], None], tmp_path: Path) -> None:
    file = tmp_path / "users"
    word = tmp_path / "word"
    word.write_text("correct horse\nsecond line\n")
    typed("battery staple\n")
    bob = ksqlpy("users", "add", "bob", "--users-file", file)
    alice = ksqlpy("users", "add", "alice", "--roles", "writer,Reader", "--password-file", word, "--users-file", file)
    assert (bob.out, alice.out, bob.err, alice.err) == ("user bob is added\n", "user alice is added\n", "", "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "correct horse" not in file.read_text()
    users = users_of(file)
    assert verified("correct horse", users["alice"].hash) and verified("battery staple", users["bob"].hash)
    shown = ksqlpy("--output", "csv", "users", "list", "--users-file", file)
    assert shown.out.splitlines() == ["Name,Roles", 'alice,"reader, writer"', 'bob,""']
    lines = ksqlpy("users", "list", "--output", "json", "--users-file", file).out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"name": "alice", "roles": ["reader", "writer"]},
        {"name": "bob", "roles": []},
    ]
    typed("another horse\n")
    assert ksqlpy("users", "add", "alice", "--users-file", file).out == "user alice is changed\n"
    assert verified("another horse", users_of(file)["alice"].hash) and users_of(file)["bob"] == users["bob"]
    assert ksqlpy("users", "remove", "bob", "--users-file", file).out == "user bob is removed\n"
    assert list(users_of(file)) == ["alice"]


def test_comments_and_rights_of_the_file_stay(ksqlpy: Run, typed: Callable[[str], None], tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# of the team\n\n")
    file.chmod(0o640)
    typed("battery staple\n")
    assert ksqlpy("users", "add", "bob", "--users-file", file).code == 0
    assert file.read_text().startswith("# of the team\n\nbob:$argon2id$") and stat.S_IMODE(file.stat().st_mode) == 0o640


def test_the_file_of_the_server(ksqlpy: Run, typed: Callable[[str], None], tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"ksqlpy.auth.users.file={tmp_path / 'users'}\n")
    typed("battery staple\n")
    assert ksqlpy("users", "add", "bob", "--config", config).code == 0
    assert list(users_of(tmp_path / "users")) == ["bob"]
    defined = f"ksqlpy.auth.users.file={tmp_path / 'users'}"
    assert "bob" in ksqlpy("users", "list", "-D", defined).out


def test_a_person_types_it_twice(
    ksqlpy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Callable[[str], None]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = ["correct horse", "correct house", "correct horse", "correct horse"]
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return answers.pop(0)

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", ask)
    file = tmp_path / "users"
    refused = ksqlpy("users", "add", "alice", "--users-file", file)
    assert (refused.code, file.exists()) == (1, False) and "was not the same twice" in refused.err
    assert ksqlpy("users", "add", "alice", "--users-file", file).code == 0
    assert asked == ["password of alice: ", "again: "] * 2


@pytest.mark.parametrize(
    ("text", "code"), [("", "secret-unreadable"), ("\n", "secret-unreadable"), ("1234567\n", "bad-password")]
)
def test_passwords_that_are_none(
    ksqlpy: Run, typed: Callable[[str], None], tmp_path: Path, text: str, code: str
) -> None:
    typed(text)
    done = ksqlpy("users", "add", "alice", "--users-file", tmp_path / "users")
    assert done.code == 1 and f"error[{code}]" in done.err and not (tmp_path / "users").exists()


def test_no_option_takes_a_password(ksqlpy: Run, tmp_path: Path) -> None:
    assert ksqlpy("users", "add", "alice", "--password", "word", "--users-file", tmp_path / "users").code == 2

"""The image of the server: what its Containerfile says is there, runs as no root, and asks the right question."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys

import httpx

from ksqlpy.__main__ import _parser
from ksqlpy.config import PROPERTIES, Config
from ksqlpy.server.run import ServerThread
from tests.deployment.containerfile import CONTAINERFILE, ROOT, environment, instructions
from tests.support.fake_engine import FakeEngine

FOUND = instructions()
LAST = FOUND[-1].stage


def last(name: str) -> list[str]:
    return [i.text for i in FOUND if i.name == name and i.stage == LAST]


def test_all_that_is_copied_is_there_and_sent() -> None:
    stages = [m[1] for i in FOUND if i.name == "FROM" and (m := re.search(r" AS (\w+)$", i.text))]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for text in (i.text for i in FOUND if i.name == "COPY"):
        words = shlex.split(text)
        if words[0].startswith("--from="):
            assert words[0].removeprefix("--from=") in stages
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists(), source
            assert not any(fnmatch.fnmatch(source, pattern) for pattern in ignored), source


def test_versions_are_pinned() -> None:
    bases = [i.text.split()[0] for i in FOUND if i.name == "FROM"]
    assert len(bases) == 2 and len(set(bases)) == 1  # one Python: a venv of the first stage runs in the second
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", bases[0])
    [command] = [part for i in FOUND if i.name == "RUN" for part in i.text.split(" && ") if part.startswith("sed ")]
    made = subprocess.run(
        shlex.split(command.split(">")[0]), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert made == [f"{name}=={version}" for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)]
    assert {"pyspark", "hypercorn"} <= {pin.split("==")[0] for pin in made}


def test_it_runs_as_a_user_and_writes_to_volumes_only() -> None:
    [user] = last("USER")
    assert int(user) > 0
    [volumes] = last("VOLUME")
    variables = environment(FOUND)
    for name in ("HOME", "KSQLPY_DATA_DIR", "XDG_CACHE_HOME"):
        place = variables[name] if name != "XDG_CACHE_HOME" else f"{variables[name]}/ksqlpy"
        assert any(place == v or place.startswith(f"{v}/") for v in json.loads(volumes)), name
    assert "/tmp" in json.loads(volumes)
    names = [i.name for i in FOUND if i.stage == LAST]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert not any(i.name == "COPY" and "--chown" in i.text for i in FOUND)  # what is installed stays root's


def test_what_it_starts_is_a_command_of_ours() -> None:
    [entry], [arguments] = last("ENTRYPOINT"), last("CMD")
    assert json.loads(entry)[-1] == "ksqlpy"
    assert _parser().parse_args(json.loads(arguments)).command == "server"
    known = {"KSQLPY_JARS"} | {f"KSQLPY_{p.removeprefix('ksqlpy.').replace('.', '_').upper()}" for p in PROPERTIES}
    assert {v for v in environment(FOUND) if v.startswith("KSQLPY_")} <= known


def test_the_health_check_asks_whether_it_lives() -> None:
    [check] = last("HEALTHCHECK")
    program, *arguments = json.loads(check.partition("CMD ")[2])
    assert program == "python"
    engine = FakeEngine()
    with ServerThread(engine) as server:
        arguments[-1] = arguments[-1].replace("8088", str(httpx.URL(server.url).port))

        def status() -> int:
            return subprocess.run([sys.executable, *arguments], stderr=subprocess.DEVNULL, check=False).returncode

        assert status() == 0
        engine.lost = True  # only another process can go on
        assert status() == 1
    assert status() == 1


def test_the_pages_build_it() -> None:
    for page in ("container", "kubernetes"):
        text = (ROOT / "examples" / page / "README.md").read_text(encoding="utf-8")
        [built] = re.findall(r"^    docker build -f (\S+) -t \S*ksqlpy\S* (\S+)", text, re.MULTILINE)
        folder = ROOT / "examples" / page
        assert (folder / built[0]).resolve() == CONTAINERFILE and (folder / built[1]).resolve() == ROOT


def test_properties_beside_it_can_be_set() -> None:
    given = Config.from_file(CONTAINERFILE.with_name("server.properties"))
    assert Config.of(given).get("bootstrap.servers") == "kafka:9092"

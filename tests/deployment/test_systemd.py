"""The unit of systemd: what it starts is ours, its files can be taken as they are, systemd has nothing against it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.__main__ import _parser
from ksqlpy.config import PROPERTIES, Config
from tests.deployment.units import FOLDER, UNIT, first, settings, uncommented

SYSTEMD = shutil.which("systemd-analyze")


def test_it_starts_a_command_of_ours_with_the_file_of_the_credential() -> None:
    program, *arguments = shlex.split(first("ExecStart"))
    assert program == "/opt/ksqlpy/bin/ksqlpy"
    options = _parser().parse_args(arguments)
    name, _, source = first("LoadCredential").partition(":")
    assert (options.command, str(options.config)) == ("server", f"%d/{name}")
    assert Path(source).name == (FOLDER / "server.properties").name
    assert first("User") == "ksqlpy" and first("Type") == "notify"


def test_its_files_can_be_taken_as_they_are_and_with_all_lines(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(uncommented(FOLDER / "server.properties"), encoding="utf-8")
    taken, all_ = (Config.of(Config.from_file(f)) for f in (FOLDER / "server.properties", file))
    assert len(all_.all_given) > len(taken.all_given) + 10
    assert taken.get("ksqlpy.data.dir").startswith(f"/var/lib/{first('StateDirectory')}/")
    variables = re.findall(r"^([A-Z_]+)=", uncommented(FOLDER / "ksqlpy.env"), re.MULTILINE)
    known = {f"KSQLPY_{p.removeprefix('ksqlpy.').replace('.', '_').upper()}" for p in PROPERTIES}
    assert len(variables) == 3 and set(variables) <= known | {"JAVA_HOME", "KSQLPY_JARS"}


def test_the_page_installs_what_it_needs() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in (UNIT.name, "server.properties", "ksqlpy.env"):
        assert re.search(rf"^    .*\binstall -m 06\d\d [^&]*{re.escape(name)}", page, re.MULTILINE), name
    assert f"useradd --system --home-dir /var/lib/{first('StateDirectory')} " in page
    assert first("ExecStart").split()[0].startswith("/opt/ksqlpy/bin/") and "venv /opt/ksqlpy " in page


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd")
def test_systemd_has_nothing_against_it(tmp_path: Path) -> None:
    assert SYSTEMD is not None
    unit = tmp_path / UNIT.name
    # It looks for the program, which is not installed here.
    text = UNIT.read_text(encoding="utf-8").replace("/opt/ksqlpy/bin/ksqlpy", sys.executable)
    unit.write_text(text, encoding="utf-8")
    done = subprocess.run([SYSTEMD, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    command = [SYSTEMD, "security", "--offline=true", "--threshold=20", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout  # 2.0 of 10 is what may be open at most


def test_settings_of_the_service_are_given_once() -> None:
    given = settings("Service")
    assert [name for name, values in given.items() if len(values) > 1] == []

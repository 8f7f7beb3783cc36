"""A newcomer's machine: no data of before, ``ksqlpy`` on the path, and a port of its own where pages have 8088."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

__all__ = ["ROOT", "made_for"]

ROOT = Path(__file__).parents[2]

_COMMAND = """\
#!/bin/sh
# What pages call ksqlpy, with another port than 8088.
case "$1" in
  server | dev) command=$1; shift; exec "{python}" -m ksqlpy "$command" --port {port} "$@" ;;
  fmt | check | test | jars | query | demo | doctor) exec "{python}" -m ksqlpy "$@" ;;
  *) exec "{python}" -m ksqlpy --server http://127.0.0.1:{port} "$@" ;;
esac
"""


def made_for(folder: Path) -> dict[str, str]:
    """The environment of a shell; what it needs and what is kept lies in the folder."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = folder / "bin" / "ksqlpy"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(_COMMAND.format(python=sys.executable, port=port), encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    home = {name: str(folder / "home" / name) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("KSQLPY_")},
        **home,
        "HOME": str(folder / "home"),
        # Jars are fetched once for all.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "TMPDIR": str(temporary),
        "TERM": "xterm",
        "PS1": "$ ",
        "PS2": "> ",
    }

"""A program as a service or a container runs it: a user without rights, in a file system that it can only read.

The mounts are of a namespace of its own, which ends with the program. Needs root, and Linux.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["NOBODY", "command", "is_possible", "python_for_all"]

NOBODY = 65534

_SCRIPT = """
set -e
mount --make-rprivate /
number=$1; shift
while [ "$number" -gt 0 ]; do mount --bind "$1" "$1"; shift; number=$((number - 1)); done
mount -o remount,bind,ro /
if [ -n "$OWN_TMP" ]; then mount -t tmpfs -o nosuid,nodev,noexec,mode=1777 tmpfs /tmp; fi
unset OWN_TMP
exec "$@"
"""
_RIGHTS = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"
)  # fmt: skip

_AGAIN = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
"""Whether the user can start it: setpriv still looks for the first program with rights of root."""


def command(program: Sequence[str], writable: Sequence[Path]) -> list[str]:
    """What starts a program so, which keeps the process id.

    ``writable``: folders that it may write to besides ``/tmp``, which is empty unless they lie in there.
    """
    folders = [str(folder) for folder in writable]
    own = "" if any(folder.is_relative_to("/tmp") for folder in writable) else "yes"
    ahead = ["env", f"OWN_TMP={own}", "unshare", "--mount", "sh", "-c", _SCRIPT, "sh", str(len(folders))]
    return [*ahead, *folders, *_RIGHTS, *program]


def is_possible() -> bool:
    """Whether this machine lets a test do it."""
    tools = all(shutil.which(tool) for tool in ("unshare", "setpriv", "mount"))
    return tools and subprocess.run(command(["true"], []), capture_output=True, check=False).returncode == 0


def python_for_all() -> str | None:
    """A Python of this version that the user may start, too; that of these tests may lie in root's folder."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for found in (f"{sys.base_prefix}/bin/python{version}", f"/usr/bin/python{version}"):
        if Path(found).exists():
            tried = subprocess.run(command([found, "-c", _AGAIN], []), capture_output=True, check=False)
            if tried.returncode == 0:
                return found
    return None

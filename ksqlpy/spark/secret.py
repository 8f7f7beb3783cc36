"""The secret by which driver and executors of a cluster know each other (``spark.authenticate``).

Without it whoever reaches a port of Spark's can run code in its JVMs. On one machine in one JVM the ports are on
loopback, and no secret is needed.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from ksqlpy.errors import ConfigProblem, file_reason
from ksqlpy.spark.masters import on_one_machine, one_jvm

__all__ = ["SECRET_FILE", "authenticated"]

SECRET_FILE = "ksqlpy.spark.secret.file"
_ON, _SECRET = "spark.authenticate", "spark.authenticate.secret"


def authenticated(master: str, given: Mapping[str, str], file: str) -> dict[str, str]:
    """A user's settings of Spark with those of the secret.

    ``given``: what the user has set; ``file``: the property :data:`SECRET_FILE`, which may be empty. Of a cluster that
    is started with its driver, each start has a secret of its own. Spark makes that of Kubernetes and YARN itself.
    Raises ConfigProblem ``cluster-without-secret``, ``invalid-property`` and ``file-unreadable``.
    """
    off = given.get(_ON, "true").strip().lower() == "false"
    if file and (off or not _takes_secret(master) or _SECRET in given):
        raise _refused(file, master, given, off=off)
    if off or one_jvm(master):
        return dict(given)
    secret = _first_line(file) if file else given.get(_SECRET, "")
    if not secret and master.startswith("local-cluster"):
        secret = secrets.token_hex(32)
    if not secret and master.startswith("spark:"):
        if on_one_machine(master) and _ON not in given:
            return dict(given)  # all of its ports are on loopback
        raise ConfigProblem(
            "cluster-without-secret",
            f"who reaches the ports of {master} and of its executors could run code there: no secret is set",
            hint=f"name a file with the secret of Master and Workers by {SECRET_FILE}; in a network that nobody else"
            " reaches, ksqlpy.spark.conf.spark.authenticate=false goes without",
        )
    return {**given, _ON: "true", **({_SECRET: secret} if secret else {})}


def _takes_secret(master: str) -> bool:
    return master.startswith(("local-cluster", "spark:"))


def _refused(file: str, master: str, given: Mapping[str, str], *, off: bool) -> ConfigProblem:
    if off:
        why = f"ksqlpy.spark.conf.{_ON}=false says that there is no secret"
    elif _SECRET in given:
        why = f"ksqlpy.spark.conf.{_SECRET} says the secret, too"
    else:
        why = f"it is for spark:// and local-cluster, and the master is {master}"
    return ConfigProblem("invalid-property", f"{SECRET_FILE}={file} is not used: {why}", hint="leave one of them out")


def _first_line(file: str) -> str:
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem(
            "file-unreadable", f"the file of {SECRET_FILE}, {file}, cannot be read: {file_reason(e)}"
        ) from e
    if not lines or not lines[0].strip():
        raise ConfigProblem("invalid-property", f"the file of {SECRET_FILE}, {file}, has no secret in its first line")
    return lines[0].strip()

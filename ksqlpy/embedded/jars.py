"""The jars that PyPI does not carry: pinned, checksummed, fetched once.

``jars.toml`` lists them in sets. They are looked for in ``$KSQLPY_JARS``, else in the cache folder, else fetched with
the Ivy that comes with PySpark. ``$KSQLPY_IVY_SETTINGS`` names an Ivy settings file for machines that must go
through a mirror; proxies are taken from the usual variables.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from ksqlpy.embedded.cache import Progress, StatusLine, cache_folder, digest, locked, part_of
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem

__all__ = ["Jar", "broker_jars", "fill", "jar_set", "pyspark_jars_folder", "spark_jars"]

_LISTS = Path(__file__).with_name("jars.toml")


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned jar, or another file of a Maven repository: its coordinate and its SHA-256 in hex."""

    group: str
    name: str
    version: str
    sha256: str
    classifier: str = ""
    extension: str = "jar"

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"


def spark_jars(progress: Progress | None = None) -> list[Path]:
    """Spark's Kafka connector and what it needs, verified; fetched when they are not here yet.

    ``progress`` gets one-line texts while that takes time; without it a line on stderr is kept up to date.
    Raises EnvironmentProblem: ``jar-missing``, ``jar-wrong``, ``jars-not-fetched``, ``java-missing``.
    """
    return jar_set("spark", progress)


def broker_jars(progress: Progress | None = None) -> list[Path]:
    """The class path of a Kafka broker; otherwise as :func:`spark_jars`."""
    return jar_set("broker", progress)


def jar_set(name: str, progress: Progress | None = None, lists: Path = _LISTS) -> list[Path]:
    """The files of the set ``name`` of jars.toml, or of another such file, in the list's order.

    Otherwise as :func:`spark_jars`.
    """
    jars = _pinned(lists)[name]
    own = os.environ.get("KSQLPY_JARS")
    if own:
        folder = Path(own).expanduser() / name
        _verify(folder, jars)
        return _paths(folder, jars)
    # A changed list gets a new folder: nothing that a running process uses is ever altered.
    root = cache_folder("jars")
    folder = root / f"{name}-{digest(*(j.sha256 for j in jars))}"
    if not folder.is_dir():
        _fetch(name, jars, folder, progress or StatusLine())
    try:
        _verify(folder, jars)
    except EnvironmentProblem:
        # Somebody cleaned or damaged our own cache: fetching again is all that can be wanted.
        _fetch(name, jars, folder, progress or StatusLine(), again=True)
        _verify(folder, jars)
    return _paths(folder, jars)


def fill(to: Path, progress: Progress | None = None) -> list[Path]:
    """Copy all sets to ``to``/SET/*.jar, a folder to be named by ``KSQLPY_JARS`` on a machine without network."""
    out = []
    for name in _pinned(_LISTS):
        target = to / name
        target.mkdir(parents=True, exist_ok=True)
        for jar in jar_set(name, progress):
            # By way of a second name, so that a broken copy never looks like a jar.
            part = part_of(target / f".{jar.name}")
            shutil.copyfile(jar, part)
            out.append(part.replace(target / jar.name))
    return out


def pyspark_jars_folder() -> Path:
    """PySpark's folder of jars, found without importing pyspark.

    Raises EnvironmentProblem ``pyspark-missing``.
    """
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / "jars").is_dir():
            return Path(place) / "jars"
    raise EnvironmentProblem("pyspark-missing", "PySpark with its jars is not installed", hint="pip install pyspark")


@functools.cache
def _pinned(lists: Path) -> dict[str, tuple[Jar, ...]]:
    data = tomllib.loads(lists.read_text(encoding="utf-8"))
    return {name: tuple(_jar(c, sha256) for c, sha256 in entries.items()) for name, entries in data.items()}


def _jar(coordinate: str, sha256: str) -> Jar:
    whole, _, extension = coordinate.partition("@")
    group, name, version, classifier = (*whole.split(":"), "")[:4]
    return Jar(group, name, version, sha256, classifier, extension or "jar")


def _paths(folder: Path, jars: Sequence[Jar]) -> list[Path]:
    return [(folder / j.file_name).absolute() for j in jars]


# --- verifying ---------------------------------------------------------------------------------------------------


def _verify(folder: Path, jars: Sequence[Jar]) -> None:
    """Check every file; a file that is as big and as old as when it was last hashed is not hashed again."""
    folder = folder.absolute()
    stamp = cache_folder("jars", "stamps") / f"{digest(str(folder))}.json"
    try:
        known: dict[str, object] = json.loads(stamp.read_text())
    except (OSError, ValueError):
        known = {}
    fresh: dict[str, object] = {}
    for jar in jars:
        file = folder / jar.file_name
        try:
            stat = file.stat()
        except OSError:
            raise EnvironmentProblem(
                "jar-missing",
                f"the jar {jar.file_name} is missing in {folder}",
                hint="fill the folder with: ksqlpy jars --to DIR (and set KSQLPY_JARS=DIR)",
            ) from None
        entry = [stat.st_size, stat.st_mtime_ns, jar.sha256]
        if known.get(jar.file_name) != entry:
            with file.open("rb") as f:
                found = hashlib.file_digest(f, "sha256").hexdigest()
            if found != jar.sha256:
                raise EnvironmentProblem(
                    "jar-wrong",
                    f"the jar {file} is not the one that was tested: SHA-256 {found[:16]}… instead of "
                    f"{jar.sha256[:16]}…",
                    hint=f"delete it and fetch {jar.group}:{jar.name}:{jar.version} again: ksqlpy jars --to DIR",
                )
        fresh[jar.file_name] = entry
    if fresh != known:
        part = part_of(stamp)
        part.write_text(json.dumps(fresh))
        part.replace(stamp)


# --- fetching ----------------------------------------------------------------------------------------------------


def _fetch(name: str, jars: Sequence[Jar], folder: Path, progress: Progress, again: bool = False) -> None:
    root = folder.parent
    progress(f"fetching jars for {name}: {len(jars)} files")
    try:
        with locked(root / "lock", lambda: progress(f"fetching jars for {name}: another process is at it, waiting")):
            if folder.is_dir():
                if not again or _intact(folder, jars):
                    return
                shutil.rmtree(folder)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=root) as scratch:
                fetched = Path(scratch) / "jars"
                _run_ivy(name, jars, Path(scratch), fetched, progress)
                _verify(fetched, jars)
                fetched.rename(folder)
    finally:
        progress("")


def _intact(folder: Path, jars: Sequence[Jar]) -> bool:
    try:
        _verify(folder, jars)
    except EnvironmentProblem:
        return False
    return True


def _run_ivy(name: str, jars: Sequence[Jar], scratch: Path, to: Path, progress: Progress) -> None:
    """Let Ivy put the jars into the folder ``to``."""
    (scratch / "ivy.xml").write_text(_ivy_file(jars), encoding="utf-8")
    settings = os.environ.get("KSQLPY_IVY_SETTINGS")
    if not settings:
        settings = str(scratch / "settings.xml")
        Path(settings).write_text(_SETTINGS, encoding="utf-8")
    ivy = next(pyspark_jars_folder().glob("ivy-*.jar"), None)
    if ivy is None:
        raise EnvironmentProblem("pyspark-missing", "PySpark's folder of jars has no Ivy", hint="reinstall pyspark")
    command = [
        str(find_java(of_the_machine=True).executable),
        *_proxy_options(os.environ),
        "-XX:TieredStopAtLevel=1",
        "-jar",
        str(ivy),
    ]
    command += ["-settings", settings, "-cache", str(scratch / "cache"), "-ivy", str(scratch / "ivy.xml")]
    command += ["-confs", "jars", "-retrieve", f"{to}/[artifact]-[revision](-[classifier]).[ext]"]
    output: deque[str] = deque(maxlen=2000)
    done = 0
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                output.append(line.rstrip())
                if "[SUCCESSFUL ]" in line:
                    done += 1
                    progress(f"fetching jars for {name}: {done} of {len(jars)}")
        except BaseException:
            process.kill()
            raise
    missing = [j for j in jars if not (to / j.file_name).exists()]
    if not missing:
        return
    reasons = [s for line in output if (s := line.strip()).startswith(("UNRESOLVED", "[FAILED", "Server access", "::"))]
    reasons = [s for s in reasons if ":::" not in s and not s.startswith(":: ")] or list(output)[-3:]
    problem = EnvironmentProblem(
        "jars-not-fetched",
        f"{len(missing)} of {len(jars)} jars for {name} could not be fetched, the first is {missing[0].file_name}"
        f"{': ' + '; '.join(dict.fromkeys(reasons[:3])) if reasons else ''}",
        hint="check network and proxy, name an Ivy settings file with your mirror in KSQLPY_IVY_SETTINGS, or run"
        " `ksqlpy jars --to DIR` on another machine and set KSQLPY_JARS=DIR",
    )
    problem.add_note("\n".join(output))
    raise problem


def _ivy_file(jars: Sequence[Jar]) -> str:
    lines = [
        f"    <dependency org={quoteattr(j.group)} name={quoteattr(j.name)} rev={quoteattr(j.version)}"
        f' transitive="false" conf="jars->default">{_artifact(j)}</dependency>'
        for j in jars
    ]
    return "\n".join(
        [
            '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
            '  <info organisation="ksqlpy" module="jars"/>',
            '  <configurations><conf name="jars"/></configurations>',
            "  <dependencies>",
            *lines,
            "  </dependencies>",
            "</ivy-module>",
        ]
    )


def _artifact(jar: Jar) -> str:
    """What is fetched of a coordinate: its jar, unless another file is named."""
    if not jar.classifier and jar.extension == "jar":
        return ""
    kind = quoteattr(jar.extension)
    classifier = f" m:classifier={quoteattr(jar.classifier)}" if jar.classifier else ""
    return f"<artifact name={quoteattr(jar.name)} type={kind} ext={kind}{classifier}/>"


# Ivy's own default repository, after Maven's folder on this machine. Poms are not read and Maven's checksums not asked
# for: every coordinate is pinned and every file checked against the list, and it is ten times faster so.
_PLACE = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
_SETTINGS = f"""<ivysettings>
  <settings defaultResolver="all"/>
  <property name="ivy.checksums" value=""/>
  <resolvers>
    <chain name="all" returnFirst="true">
      <filesystem name="maven-local" m2compatible="true">
        <artifact pattern="${{user.home}}/.m2/repository/{_PLACE}"/>
      </filesystem>
      <ibiblio name="default" m2compatible="true" usepoms="false"/>
    </chain>
  </resolvers>
</ivysettings>
"""


def _proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Java's proxy properties for the variables that everything else obeys."""
    out = []
    for scheme in ("http", "https"):
        value = environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY") or ""
        url = urlsplit(value if "://" in value else f"//{value}")
        if url.hostname:
            out += [f"-D{scheme}.proxyHost={url.hostname}", f"-D{scheme}.proxyPort={url.port or 80}"]
    without = [h.strip() for h in (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")]
    if out and any(without):
        out.append("-Dhttp.nonProxyHosts=" + "|".join(f"*{h}" if h.startswith(".") else h for h in without if h))
    return out

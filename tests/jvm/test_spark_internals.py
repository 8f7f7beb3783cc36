"""What ksqlpy uses of Spark, PySpark and Kafka that is not public: the contract of spark_internals.txt.

It names what our classes are compiled against, what they find by name, and what ``spark/gateway.py`` uses of PySpark.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import ksqlpy
from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark import session as sessions
from ksqlpy.spark import version as versions
from ksqlpy.spark.jvm import contract as contracts
from ksqlpy.spark.jvm.build import compiler, helper_jar, libraries
from ksqlpy.spark.jvm.class_files import ClassFile, Library, Member, classes_of
from ksqlpy.spark.jvm.contract import contract, missing_in_java, missing_in_python, speedups
from ksqlpy.spark.speedups import SPEEDUPS
from ksqlpy.spark.version import SPARK_VERSION, check_pyspark, check_spark
from tests.jvm.java_readme import FOLDER, Internal, internals, sources, stubs

pytestmark = pytest.mark.java  # our classes may have to be compiled

PRODUCT = Path(ksqlpy.__file__).parent

PUBLIC = re.compile(
    r"org\.apache\.spark\.(TaskContext|unsafe|api\.plugin|scheduler\.SparkListener(Executor(Added|Removed))?"
    r"|sql\.(connector|streaming|types|util|SparkSessionExtensions))\b"
    r"|org\.apache\.spark\.(SparkConf|SparkEnv|package\$|rdd\.RDD|storage\.BlockManagerId)$"
    r"|org\.apache\.spark\.sql\.(Dataset|ExperimentalMethods|RuntimeConfig|SparkSession)$"
    r"|org\.apache\.spark\.sql\.catalyst\.(InternalRow|expressions\.(Unsafe|GenericInternal)Row"
    r"|expressions\.SpecializedGetters|util\.(ArrayData|MapData|GenericArrayData|ArrayBasedMapData)"
    r"|FunctionIdentifier|expressions\.ExpressionInfo)$"
)
"""The public interfaces, by Spark's documentation, with the rows and the descriptions of functions that they pass."""


@pytest.fixture(scope="module")
def spark_classes() -> Iterator[Library]:
    with contextlib.closing(Library([*pyspark_jars_folder().glob("*.jar"), *spark_jars()])) as library:
        yield library


@pytest.fixture(scope="module")
def ours() -> dict[str, ClassFile]:
    return {c.name: c for c in classes_of(helper_jar())}


def reached(ours: dict[str, ClassFile], spark_classes: Library) -> dict[Member, set[str]]:
    """The members of private classes that ours call or override, each with the classes that do."""
    found: dict[Member, set[str]] = defaultdict(set)
    for c in ours.values():
        members = {each for m in c.used for each in beyond(m, ours)}
        for parent in above(c, ours):
            overridden = {Member(parent, name, d) for name, d in c.declared if name not in ("<init>", "<clinit>")}
            members |= {m for m in overridden if spark_classes.has(m)}
        for m in members:
            if m.owner.startswith("org.apache.spark.") and not PUBLIC.match(m.owner):
                found[m].add(c.name.split("$")[0])
    return found


def beyond(member: Member, ours: dict[str, ClassFile]) -> list[Member]:
    """The member itself; one that a class of ours inherits, under the names of what this class extends."""
    if member.owner not in ours:
        return [member]
    if (member.name, member.descriptor) in ours[member.owner].declared:
        return []
    return [Member(parent, member.name, member.descriptor) for parent in above(ours[member.owner], ours)]


def above(c: ClassFile, ours: dict[str, ClassFile]) -> list[str]:
    """What it extends and implements that is not ours, also by way of ours."""
    return [name for p in c.parents for name in (above(ours[p], ours) if p in ours else [p])]


def test_the_contract_is_what_our_classes_use(ours: dict[str, ClassFile], spark_classes: Library) -> None:
    owners = {f"ksqlpy.speedups.{c}": f"speed-up {name} linked" for name, listed in classes().items() for c in listed}
    used: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for member, users in reached(ours, spark_classes).items():
        if spark_classes.has(member):
            sections = {owners.get(user, "linked") for user in users}
            for section in sections if "linked" not in sections else ("linked",):
                used[section][member.owner].add(member.text)
    sections = {"linked", *owners.values()}
    assert used == {section: contract(section) for section in sections}


def test_no_query_needs_more_than_this(ours: dict[str, ClassFile]) -> None:
    """Each further class is one more that a release of Spark may change."""
    assert len(contract("linked")) <= 80


def test_two_packages_reach_for_it(ours: dict[str, ClassFile], spark_classes: Library) -> None:
    users = {user for users in reached(ours, spark_classes).values() for user in users}
    assert {user for user in users if not user.startswith(("ksqlpy.internals.", "ksqlpy.speedups."))} == set()


def test_a_stub_has_nothing_that_spark_has_not(
    ours: dict[str, ClassFile], spark_classes: Library, tmp_path: Path
) -> None:
    """Neither another member nor another class above it, and of each member the same types.

    The result may be a narrower type, which erasure left out in Spark's class, if no class of ours calls it so.
    """
    assert stubs()
    given = ["-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(tmp_path)]
    path = os.pathsep.join(map(str, libraries()))
    subprocess.run([*compiler(), *given, "-classpath", path, *map(str, stubs())], check=True)
    made = [ClassFile.of(file.read_bytes()) for file in tmp_path.rglob("*.class")]
    assert {c.name for c in made} == {".".join(s.relative_to(FOLDER / "stubs").with_suffix("").parts) for s in stubs()}
    for stub in made:
        real = spark_classes.find(stub.name)
        assert real is not None, stub.name
        assert stub.parents[0] in ancestors(real, spark_classes)
        assert len(stub.declared) > 1
        constructors = {m for m in stub.declared if m[0] == "<init>"}
        assert constructors <= real.declared
        members = {Member(stub.name, *m) for m in stub.declared - constructors}
        there = {m for m in members if spark_classes.has(m)}
        assert {m.taken for m in members} == {m.taken for m in there}
        called = {each for c in ours.values() for m in c.used for each in beyond(m, ours)}
        assert called & (members - there) == set()


def ancestors(c: ClassFile, library: Library) -> set[str]:
    """All that a class extends and implements."""
    found: set[str] = set()
    waiting = [c]
    while waiting:
        for name in waiting.pop().parents:
            found.add(name)
            if (parent := library.find(name)) is not None:
                waiting.append(parent)
    return found


def parts() -> list[str]:
    """The sections of Java's members."""
    return [s for part in ("", *(f"speed-up {n} " for n in speedups())) for s in (f"{part}linked", f"{part}by name")]


@pytest.mark.parametrize("section", [s for s in parts() if contract(s)])
def test_spark_has_the_members(spark_classes: Library, section: str) -> None:
    assert list(missing_in_java(spark_classes, contract(section))) == []


def test_pyspark_has_the_members() -> None:
    assert len(contract("python")) > 4
    assert list(missing_in_python(contract("python"))) == []


def attributes(file: Path, *, own: bool) -> set[str]:
    """Names of the attributes that a file's code uses; ``own``: also those of ``self``."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    found = [n for n in nodes if isinstance(n, ast.Attribute)]
    return {n.attr for n in found if own or not (isinstance(n.value, ast.Name) and n.value.id == "self")}


def test_one_file_uses_private_members_of_pyspark() -> None:
    listed = {member for members in contract("python").values() for member in members}
    (gateway,) = PRODUCT.glob("spark/gateway.py")
    used = {name for name in attributes(gateway, own=True) if name.startswith("_")}
    assert used == {name for name in listed if name.startswith("_")}
    files = [Path(top, name) for top, _, names in os.walk(PRODUCT, followlinks=True) for name in names]
    others = [f for f in files if f.suffix == ".py" and f != gateway]
    assert len(others) > 300
    assert {f.name: both for f in others if (both := attributes(f, own=False) & used)} == {}
    modules = {owner for owner in contract("python") if owner.startswith("pyspark.java_gateway")}
    assert [f.name for f in others if any(m in f.read_text("utf-8") for m in modules)] == []


def test_each_reach_has_its_reason(ours: dict[str, ClassFile], spark_classes: Library) -> None:
    users = {(m.owner, user.split(".")[-1]) for m, users in reached(ours, spark_classes).items() for user in users}
    linked = {(row.name, user) for row in internals() for owner, user in users if covers(row, owner)}
    named = {(row.name, user) for row in internals() for user in row.users}
    assert linked - named == set()
    found_by_name = {owner for section in parts() if section.endswith("by name") for owner in contract(section)}
    by_name = {row.name for row in internals() for owner in found_by_name if covers(row, owner)}
    assert {(name, user) for name, user in named - linked if name not in by_name} == set()
    owners = {owner for owner, _ in users} | found_by_name
    assert {o for o in owners if not any(covers(row, o) for row in internals())} == set()
    assert all(row.reason for row in internals())


def covers(row: Internal, owner: str) -> bool:
    return owner == row.name or owner.startswith(f"{row.name}.")


def test_names_in_texts_are_in_the_contract() -> None:
    texts = [*sources().values(), *(f.read_text("utf-8") for f in FOLDER.parent.glob("*.py"))]
    quoted = {name for text in texts for name in re.findall(r'"(org\.apache\.spark\.[\w.]*\w)"', text)}
    rules = {f"{rule}$" for rule in sessions.SETTINGS["spark.sql.optimizer.excludedRules"].split(",")}
    assert len(quoted) > 2
    assert quoted | rules <= {owner for section in parts() for owner in contract(section)}


@pytest.mark.spark
def test_spark_is_of_the_version_that_is_known(spark: SparkSession) -> None:
    assert spark.version == SPARK_VERSION


@pytest.mark.parametrize("version", ["4.2.0", "4.30.0", "4.4.0", "5.4.3.1", "4.3.1.dev0"])
def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(EnvironmentProblem, match=rf"needs Spark {SPARK_VERSION}, and this is Spark {version}$") as e:
        check_pyspark()
    assert e.value.code == "spark-version"
    assert e.value.hint is not None and f"pyspark=={SPARK_VERSION}" in e.value.hint


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the notes on versions that have all members, empty; PySpark is a later patch release."""
    monkeypatch.setattr(versions, "cache_folder", lambda *_: tmp_path)
    monkeypatch.setattr(pyspark, "__version__", "4.3.12")
    return tmp_path


def test_a_patch_release_with_all_members_is_accepted(monkeypatch: pytest.MonkeyPatch, noted: Path) -> None:
    check_pyspark()
    assert len(list(noted.iterdir())) == 1
    monkeypatch.setattr(versions, "missing", lambda jars: pytest.fail("it looks for the members a second time"))
    check_pyspark()


def test_the_known_version_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "missing", lambda jars: pytest.fail("it looks for the members"))
    check_pyspark()


@pytest.mark.parametrize(
    ("there", "instead", "lacking"),
    [
        ("  java.util.Properties properties()", "  int properties()", ".TaskSet: int properties"),
        ("org.apache.spark.scheduler.TaskSet\n", "org.apache.spark.TaskSet\n", "org.apache.spark.TaskSet"),
        ("  _jdf", "  _jframe", "pyspark.sql.classic.dataframe.DataFrame: _jframe"),
        ("pyspark.java_gateway\n", "pyspark.gateway\n", "pyspark.gateway"),
        ("  _jsc", "  _jsc\n  _jctx\n  _jenv", r"pyspark.core.context.SparkContext: _jctx, and 1 more"),
    ],
)
def test_a_patch_release_without_a_member_is_refused(
    monkeypatch: pytest.MonkeyPatch, noted: Path, tmp_path: Path, there: str, instead: str, lacking: str
) -> None:
    change_contract(monkeypatch, tmp_path, there, instead)
    with pytest.raises(EnvironmentProblem, match=rf"this is Spark 4\.3\.12, which lacks .*{re.escape(lacking)}") as e:
        check_pyspark()
    assert e.value.code == "spark-version"
    assert not list(noted.iterdir())


def change_contract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str, instead: str) -> None:
    """Has another line in place of one."""
    text = contracts.CONTRACT.read_text("utf-8")
    assert text.count(f"\n{there}") == 1
    changed = tmp_path.with_name(f"{tmp_path.name}.txt")
    changed.write_text(text.replace(f"\n{there}", f"\n{instead}"), encoding="utf-8")
    for module in (contracts, versions):
        monkeypatch.setattr(module, "CONTRACT", changed)


@pytest.mark.parametrize(
    ("there", "instead", "off", "lacking"),
    [
        (
            "org.apache.spark.sql.execution.SparkSqlParser\n",
            "org.apache.spark.sql.execution.QuickSqlParser\n",
            "expression-reader",
            "org.apache.spark.sql.execution.QuickSqlParser",
        ),
        (
            "  void reviveOffers()",
            "  int reviveOffers()",
            "executor-quarantine",
            "SchedulerBackend: int reviveOffers()",
        ),
        ("  void writeToFile(java.io.File)", "  int writeToFile()", "state-metadata", "Metadata: int writeToFile()"),
        (
            "org.apache.spark.sql.execution.datasources.SchemaPruning$",
            "org.apache.spark.sql.execution.datasources.ColumnPruning$",
            "optimizer-rules",
            "org.apache.spark.sql.execution.datasources.ColumnPruning$",
        ),
    ],
)
def test_a_patch_release_without_a_member_of_a_speed_up_goes_without(
    monkeypatch: pytest.MonkeyPatch, noted: Path, tmp_path: Path, there: str, instead: str, off: str, lacking: str
) -> None:
    change_contract(monkeypatch, tmp_path, there, instead)
    found = check_pyspark()
    assert list(found) == [off]
    assert found[off].endswith(lacking)
    monkeypatch.setattr(versions, "missing", lambda jars: pytest.fail("it looks for the members a second time"))
    assert check_pyspark() == found
    settings = sessions.prepare_launch("local[1]", "700m", tmp_path / "spark").settings
    assert settings["spark.ksqlpy.speedups.off"] == off
    assert ("spark.sql.optimizer.excludedRules" in settings) == (off != "optimizer-rules")


def test_each_speed_up_has_its_members() -> None:
    assert speedups() == list(SPEEDUPS)
    assert list(classes()) == [name for name in SPEEDUPS if name != "optimizer-rules"]
    listed = {f"speedups.{c}" for of in classes().values() for c in of}
    assert listed == {name for name in sources() if name.startswith("speedups.")}


def classes() -> dict[str, list[str]]:
    """The Java classes of each speed-up."""
    rows = re.findall(r"^  [A-Z_]+\(([^)]*)\)[,;]$", sources()["internals.Speedup"], re.MULTILINE)
    found = [[word.strip('" ') for word in row.split(",")] for row in rows]
    return {name: of for name, *of in found}


def test_spark_is_of_the_version_of_pyspark() -> None:
    check_spark(pyspark.__version__)
    with pytest.raises(EnvironmentProblem, match=rf"needs Spark {SPARK_VERSION}, and this is Spark 4\.3\.12"):
        check_spark("4.3.12")


def test_no_jvm_starts_with_another_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    with pytest.raises(EnvironmentProblem, match=r"this is Spark 4\.2\.0"):
        sessions.start_session("local[1]", "700m", tmp_path / "spark")
    assert not (tmp_path / "spark").exists()


OTHER_JVM = """
import sys
from pathlib import Path
import pyspark
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark import session, version
version.SPARK_VERSION = pyspark.__version__ = "9.9.9"  # so Spark itself is the other one, as by SPARK_HOME
try:
    session.start_session("local[1]", "700m", Path(sys.argv[1]))
except EnvironmentProblem as e:
    print(e.code, session.has_session(), session.jvm_alive())
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_jvm_with_another_spark_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER_JVM, str(tmp_path / "spark")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert said.stdout == "spark-version False False\n", said.stderr

"""Every operator answers for itself, here and where it is built; one that comes from outside needs nothing else."""

from __future__ import annotations

import inspect
import io
import json
import re
import tokenize
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ksqlpy
import ksqlpy.plan.operators
import ksqlpy.spark.operators
from ksqlpy.plan.operators import Filter, Operator
from ksqlpy.plan.operators.contract import Stateless, TaskStep
from ksqlpy.plan.stored import Kept
from ksqlpy.plan.text import expression_text
from ksqlpy.spark.operators import builder_of, register
from ksqlpy.spark.rows import Col, StepCol
from ksqlpy.spark.spec import fingerprint_of, slots
from ksqlpy.testing.memory import EARLIEST, MemoryEngine, run_query
from ksqlpy.testing.records import Record
from tests.plan.first_of_key import FirstOfKey, build


def classes(of: type[Operator] = Operator) -> list[type[Operator]]:
    """All operators of ksqlpy."""
    found = [c for sub in of.__subclasses__() for c in (sub, *classes(sub))]
    return [c for c in found if c.__module__.startswith("ksqlpy.") and c not in (Stateless, TaskStep)]


def test_an_operator_and_its_builder_lie_in_files_of_one_name() -> None:
    files = {
        package.__name__: {p.name for p in Path(inspect.getfile(package)).parent.glob("*.py")}
        for package in (ksqlpy.plan.operators, ksqlpy.spark.operators)
    }
    assert len(classes()) == len(set(classes())) > 9
    for operator in classes():
        module = operator.__module__.rpartition(".")[2]
        assert f"{module}.py" in files["ksqlpy.plan.operators"]
        assert f"{module}.py" in files["ksqlpy.spark.operators"]
        assert inspect.getmodule(builder_of(operator)).__name__ == f"ksqlpy.spark.operators.{module}"  # type: ignore[union-attr]
    assert len(files["ksqlpy.plan.operators"]) == len(classes()) + 2, "an operator a file, the contract and __init__"


def test_system_columns_are_named_in_one_place() -> None:
    root = Path(inspect.getfile(ksqlpy)).parent
    own = {root / "spark" / "rows.py", root / "analysis" / "typed.py"}
    everywhere = sorted(set(root.rglob("*.py")) - own)
    assert not _naming(_columns(Col) - {Col.SEEN, Col.SEEN_LANE}, everywhere, root)
    # Parameters of lambdas in the text of functions have some of these names, too.
    builders = [f for f in everywhere if f.parent == root / "spark" / "operators"]
    assert builders and len(_columns(StepCol)) > 5
    assert not _naming(_columns(StepCol), builders, root)


def _columns(of: type) -> set[str]:
    return {v for k, v in vars(of).items() if k.isupper() and isinstance(v, str)}


def _naming(names: set[str], files: list[Path], root: Path) -> list[str]:
    """Where texts name one of the columns."""
    named = re.compile(rf"(?<!\w)({'|'.join(names)})\b")
    found = []
    for file in files:
        for token in tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline):
            if token.type == tokenize.STRING and '"""' not in token.string and named.search(token.string):
                found.append(f"{file.relative_to(root)}:{token.start[0]}: {token.string}")
    return found


@pytest.mark.parametrize("operator", classes(), ids=lambda c: c.__name__)
def test_an_operator_leaves_no_question_open(operator: type[Operator]) -> None:
    assert not inspect.isabstract(operator)
    asked = Operator.__abstractmethods__
    given = {n for c in operator.__mro__ if c is not Operator for n in vars(c)}
    assert asked <= given


def test_an_operator_that_leaves_a_question_open_cannot_be_made() -> None:
    class Silent(Filter):
        """Says nothing of its results."""

        results = Operator.results  # type: ignore[assignment]

    # As a class that never had an answer.
    Silent.__abstractmethods__ = frozenset({"results"})
    with pytest.raises(TypeError, match="results"):
        Silent(None, None)  # type: ignore[arg-type]


def test_nobody_builds_what_is_not_registered() -> None:
    class Odd(Filter):
        """Known to nobody."""

    with pytest.raises(TypeError, match="no builder for the operator Odd"):
        builder_of(Odd)


def test_one_more_operator_is_one_file_and_its_builder(spark: SparkSession, tmp_path: Path) -> None:
    register(FirstOfKey, build)  # type: ignore[arg-type]
    engine = MemoryEngine(spark)
    engine.execute(
        "CREATE STREAM visits (who STRING KEY, page STRING) WITH (KAFKA_TOPIC='visits', VALUE_FORMAT='JSON',"
        " PARTITIONS=1); CREATE STREAM seen AS SELECT who, page FROM visits WHERE page <> 'robots.txt';",
        EARLIEST,
    )
    [(_, spec)] = engine.ordered_specs()
    before = spec.plan
    [who] = [o.expr for o in before.root.outputs if o.name == "WHO"]
    plan = before.rebuilt(lambda n: FirstOfKey(n, (who,)) if isinstance(n, Filter) else n)
    assert not before.stateful and before.done_as_read and slots(before, {"visits": 4}, 4) == 4
    assert plan.stateful and plan.retraced and not plan.done_as_read and plan.guarantee == "yes"
    assert slots(plan, {"visits": 4}, 4) == 8
    assert fingerprint_of(Kept.unstored(plan)) != fingerprint_of(Kept.unstored(before))
    assert "First of key WHO" in ksqlpy.plan.plan_text(plan)
    for i, (name, page) in enumerate([("ann", "robots.txt"), ("ann", "a"), ("bob", "b"), ("ann", "c"), ("bob", "d")]):
        engine.broker.append(Record("visits", name.encode(), json.dumps({"page": page}).encode(), i))
    engine.broker.append(Record("visits", b"ann", b"no JSON", 9))
    dead = run_query(
        replace(spec, plan=plan), engine, tmp_path, sorted(engine.broker.log["visits"], key=lambda s: s.arrival)
    )
    results = [(s.record.key, json.loads(s.record.value or b"")) for s in engine.broker.log["SEEN"]]
    assert sorted(results) == [(b"ann", {"PAGE": "a"}), (b"bob", {"PAGE": "b"})]
    assert len(dead) == 1
    assert expression_text(who) == "WHO"

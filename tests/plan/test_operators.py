"""Every operator answers for itself, here and where it is built; one that comes from outside needs nothing else."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ksqlpy
import ksqlpy.plan.operators
import ksqlpy.spark.operators
from ksqlpy.plan.operators import Filter, Operator
from ksqlpy.plan.stored import Kept
from ksqlpy.plan.text import expression_text
from ksqlpy.spark.operators import builder_of, register
from ksqlpy.spark.spec import fingerprint_of, slots
from ksqlpy.testing.memory import EARLIEST, MemoryEngine, run_query
from ksqlpy.testing.records import Record
from tests.plan.first_of_key import FirstOfKey, build
from tests.plan.stored_plans import plans_of_streams


def classes(of: type[Operator] = Operator) -> list[type[Operator]]:
    """All operators of ksqlpy."""
    found = [c for sub in of.__subclasses__() for c in (sub, *classes(sub))]
    return list(dict.fromkeys(c for c in found if c.__module__.startswith("ksqlpy.") and not inspect.isabstract(c)))


def test_an_operator_and_its_builder_lie_in_files_of_one_name() -> None:
    files = {
        package.__name__: {p.name for p in Path(inspect.getfile(package)).parent.glob("*.py")}
        for package in (ksqlpy.plan.operators, ksqlpy.spark.operators)
    }
    assert len(classes()) > 9
    for operator in classes():
        module = operator.__module__.rpartition(".")[2]
        assert f"{module}.py" in files["ksqlpy.plan.operators"]
        assert f"{module}.py" in files["ksqlpy.spark.operators"]
        assert inspect.getmodule(builder_of(operator)).__name__ == f"ksqlpy.spark.operators.{module}"  # type: ignore[union-attr]
    assert len(files["ksqlpy.plan.operators"]) == len(classes()) + 3, "an operator a file, contract, joins"


ANSWERS = {n: vars(FirstOfKey)[n] for n in ("below", *Operator.__abstractmethods__)}


def made(**answers: object) -> type[Operator]:
    """A class of operators with these answers."""
    return type("Odd", (Operator,), {"__annotations__": {"input": "Operator"}, **answers})


@pytest.mark.parametrize("question", sorted(ANSWERS))
def test_an_operator_that_leaves_a_question_open_is_no_class(question: str) -> None:
    assert not inspect.isabstract(made(**ANSWERS))
    with pytest.raises(TypeError, match=rf"^Odd does not answer {question}: see ksqlpy.plan.operators.contract$"):
        made(**{n: a for n, a in ANSWERS.items() if n != question})


def test_answers_are_no_fields() -> None:
    with pytest.raises(TypeError, match=r"^Odd: needed would be a field; annotate the answer as ClassVar$"):
        made(**ANSWERS, __annotations__={"input": "Operator", "needed": "frozenset[str]"})
    made(**ANSWERS, __annotations__={"input": "Operator", "needed": "ClassVar[frozenset[str]]"})
    with pytest.raises(TypeError, match=r"^Odd: below names table, which is no field$"):
        made(**ANSWERS | {"below": ("input", "table")})


def test_operators_are_rebuilt_over_their_inputs_in_order() -> None:
    seen = set()
    for name, plan in plans_of_streams():
        assert plan.rebuilt(lambda n: n) == plan, name
        for node in plan.nodes:
            seen.add(type(node))
            turned = node.with_inputs(node.inputs[::-1])
            assert turned.inputs == node.inputs[::-1] and turned.with_inputs(turned.inputs[::-1]) == node, name
            assert set(node.lookups) <= set(node.inputs), name
    assert seen == set(classes())


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

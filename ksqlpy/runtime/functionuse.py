"""Which queries call a function in Python, and how they go on with another definition of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlglot import exp

from ksqlpy.analysis import Text
from ksqlpy.catalog import PersistentQuery
from ksqlpy.errors import KsqlError
from ksqlpy.plan import Plan
from ksqlpy.plan.calls import definitions_of, unsettled_key
from ksqlpy.plan.letters import without_letter
from ksqlpy.plan.stored import Kept
from ksqlpy.plan.stored.definitions import with_definition
from ksqlpy.spark.spec import fingerprint_of
from ksqlpy.sql import Parsed, nodes
from ksqlpy.udfs.definition import Definition

__all__ = ["check_keys", "check_letters", "going_on_with", "users"]


def check_keys(plan: Plan, parsed: Parsed) -> None:
    """Refuses keys of functions that are not deterministic; raises AnalysisProblem ``not-deterministic``."""
    found = unsettled_key(plan)
    if found is None:
        return
    name, what = found
    calls = [c for c in parsed.node.find_all(exp.Anonymous) if c.this.upper() == name]
    calls.sort(key=lambda c: c.find_ancestor(exp.Group, nodes.PartitionBy, nodes.StreamJoin) is None)
    Text(parsed.sql).refuse(
        "not-deterministic",
        f"{name} is not deterministic: what it gives cannot be a key of {what}, which must bring a record that is read"
        " again where it was",
        calls[0] if calls else None,
        hint="CREATE STREAM … AS SELECT with the function first, so that its results are records, and go on from there",
    )


def check_letters(plan: Plan, parsed: Parsed) -> None:
    """Refuses functions where a row that fails can be no dead letter; raises AnalysisProblem ``no-dead-letter``."""
    found = without_letter(plan)
    if found is None:
        return
    name, where = found
    call = next((c for c in parsed.node.find_all(exp.Anonymous) if c.this.upper() == name), None)
    Text(parsed.sql).refuse(
        "no-dead-letter",
        f"{name} has ON_ERROR = 'dead-letter', and a row that fails in {where} can be no dead letter",
        call,
        hint="let a query write what the function gives to a stream first, and go on from there",
    )


def users(name: str, queries: Iterable[str], plan_of: Callable[[str], Plan]) -> dict[str, Plan]:
    """Of these queries those that call the function, with their plans; one whose plan is not known calls nothing."""
    found = {}
    for query_id in queries:
        try:
            plan = plan_of(query_id)
        except (KsqlError, KeyError):  # its entry of the command log is odd, or a project does not know it
            continue
        if name in definitions_of(plan):
            found[query_id] = plan
    return found


def going_on_with(definition: Definition, query: PersistentQuery, kept: Kept) -> tuple[PersistentQuery, Kept]:
    """A query and its plan with that definition, from where it is; its results were made by the old one."""
    new = with_definition(kept, definition)
    earlier = dict.fromkeys((*query.upgraded_from, fingerprint_of(kept)))
    earlier.pop(fingerprint_of(new), None)
    return replace(query, upgraded_from=tuple(earlier)), new

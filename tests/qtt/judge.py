"""Whether a case passed: what came of it against what its file expects; and altered expectations, which must fail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ksqlpy.errors import KsqlError
from ksqlpy.sql import parse

from .cases import Case, Written
from .compare import Difference, compare
from .refusals import test_function, unfit
from .run import Ran

__all__ = ["Verdict", "altered", "columns_of", "judge", "skipped"]


@dataclass(frozen=True)
class Verdict:
    """``result``: passed, failed or skipped; ``reason`` in full; ``group``: under what it is counted."""

    result: str
    reason: str = ""
    group: str = ""


def skipped(case: Case) -> Verdict | None:
    """Why the case is not run; None if it is."""
    if not case.enabled:
        return Verdict("skipped", "switched off in its file", "switched off")
    function = test_function(case.sql)
    if function is not None:
        return Verdict("skipped", f"test-only function {function}", "test-only function")
    return None


def judge(case: Case, ran: Ran, *, lax: bool = False) -> Verdict:
    """The verdict of a case that was run."""
    if ran.crash is not None:
        return Verdict("failed", f"crash: {ran.crash}", f"crash: {ran.crash.partition(':')[0]}")
    if case.expected_error is not None:
        return _judge_negative(case, ran, case.expected_error)
    if ran.refused is not None:
        reason = f"refused: {ran.refused.code}: {ran.refused.summary()}"
        return Verdict("failed", reason, f"refused: {_refusal_group(ran)}")
    if ran.failure is not None:
        return Verdict("failed", f"query failed: {ran.failure}", f"query failed: {_plain(ran.failure)}")
    try:
        compare(case, ran.topics, lax=lax)
        _check_sources(case, ran)
        _check_topics(case, ran)
    except Difference as e:
        dead = f" (dead letter: {ran.dead[0].reason})" if ran.dead else ""
        return Verdict("failed", f"{e}{dead}", f"{e.what} differs" + (" (dead letters)" if ran.dead else ""))
    if not ran.queries and case.outputs and not case.inputs:
        return Verdict("passed")
    return Verdict("passed") if ran.queries else Verdict("failed", "no query came of it", "no query")


def _judge_negative(case: Case, ran: Ran, expected: Mapping[str, Any]) -> Verdict:
    runtime = str(expected.get("type", "")).endswith("StreamsException")
    wanted = f"expected: {expected.get('message', expected.get('type'))}"
    if ran.refused is not None:
        said = f"{ran.refused.code}: {ran.refused.message}"
        if ran.refused_at < len(case.statements) - 1:
            return Verdict("failed", f"refused too early: {said}; {wanted}", f"too early: {_refusal_group(ran)}")
        why = unfit(ran.refused, expected)
        if why is not None:
            return Verdict("failed", f"{why}: {said}; {wanted}", f"negative, {why}: {_refusal_group(ran)}")
        return Verdict("passed", f"refused: {said}; {wanted}")
    if ran.failure is not None:
        if runtime:
            return Verdict("passed", f"failed at run time: {ran.failure}; {wanted}")
        return Verdict(
            "failed", f"not refused, the query failed: {ran.failure}; {wanted}", "negative: fails at run time"
        )
    return Verdict("failed", f"not refused; {wanted}", "negative: not refused")


def _refusal_group(ran: Ran) -> str:
    assert ran.refused is not None
    e = ran.refused
    if e.code in ("unknown-function", "unknown-property", "no-overload") or e.code.startswith("unsupported-"):
        return f"{e.code}: {e.message[:70]}"
    if e.code in ("invalid-property", "bad-format"):
        at = "" if e.span is None or e.sql is None else e.sql[e.span.start : e.span.end][:40]
        return f"{e.code}: {_plain(e.message)} {at if e.code == 'invalid-property' else ''}"
    return f"{e.code}: {_plain(e.message)}"


def _plain(text: str) -> str:
    """A message without the names and numbers that are its own."""
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "…", text)
    text = re.sub(r"^C[TS]AS_\w+: ", "", text)
    text = re.sub(r"\b[A-Z_][A-Z0-9_]*[_0-9][A-Z0-9_]*\b|\d+", "#", text)
    return text[:90]


# ---------------------------------------------------------------- what is there afterwards


def _check_sources(case: Case, ran: Ran) -> None:
    for wanted in case.sources:
        source = ran.sources.get(wanted["name"])
        if source is None:
            raise Difference("source", f"there is no source {wanted['name']}")
        found: dict[str, Any] = {
            "type": source.kind.lower(),
            "schema": source.schema_text,
            "valueFormat": source.value.format,
            "isSource": bool(getattr(source, "read_only", False)),
        }
        for name in ("type", "schema", "isSource", "valueFormat"):
            if name in wanted and wanted[name] is not None:
                expected = wanted[name]
                if name == "valueFormat" and isinstance(expected, Mapping):
                    expected = expected.get("format")
                alike = _columns if name == "schema" else _lower
                if alike(str(expected)) != alike(str(found[name])):
                    raise Difference(f"source's {name}", f"{source.name}: {name} {found[name]}, not {expected}")
        key = wanted.get("keyFormat")
        if key is not None:
            kind = source.window.kind if source.window is not None else None
            if key.get("format") is not None and key["format"] != source.key.format:
                raise Difference(
                    "source's keyFormat", f"{source.name}: key format {source.key.format}, not {key['format']}"
                )
            if (key.get("windowType") or None) != kind:
                raise Difference("source's window", f"{source.name}: window {kind}, not {key.get('windowType')}")
            if source.window is not None and key.get("windowSize") not in (None, source.window.size):
                raise Difference("source's window", f"{source.name}: size {source.window.size}")
        single = len(source.values) == 1
        features = wanted.get("valueFeatures")
        if features is not None and single:
            expected_wrap = "UNWRAP_SINGLES" not in features
            if expected_wrap != source.value.wrapped and source.value.format != "KAFKA":
                raise Difference(
                    "source's wrapping", f"{source.name}: wrapped {source.value.wrapped}, not {expected_wrap}"
                )


def _lower(text: str) -> str:
    return text.lower()


def _columns(schema: str) -> list[tuple[str, str, bool, bool]]:
    """Name, type, and whether it is a key or holds headers, of each column of a schema text."""
    text = re.sub(r"\bPRIMARY KEY\b", "KEY", schema)
    try:
        [parsed] = parse(f"CREATE STREAM S ({text}) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');")
    except KsqlError as e:
        raise Difference("source's schema", f"the schema {schema} cannot be read: {e.message}") from e
    return columns_of(parsed.node)


def columns_of(node: exp.Expr) -> list[tuple[str, str, bool, bool]]:
    """Name, type, and whether it is a key or holds headers, of each column that a CREATE lists, keys first."""
    columns = []
    for spec in node.args.get("columns") or ():
        constraint = str(spec.args.get("constraint") or "").upper()
        columns.append(
            (spec.this.this, str(spec.args["type"].resolve({})), "KEY" in constraint, "HEADER" in constraint)
        )
    return sorted(columns, key=lambda c: not c[2])


_INTERNAL = "_confluent-ksql-"


def _check_topics(case: Case, ran: Ran) -> None:
    blacklist = case.expected_topics.get("blacklist")
    if blacklist:
        for name in ran.partitions:
            if re.search(blacklist, name):
                raise Difference("topic", f"topic {name} must not exist")
    for wanted in case.expected_topics.get("topics") or ():
        name = wanted["name"]
        if name.startswith(_INTERNAL):
            continue
        if name not in ran.partitions:
            raise Difference("topic", f"there is no topic {name}")
        if wanted.get("partitions") is not None and wanted["partitions"] != ran.partitions[name]:
            raise Difference("topic", f"topic {name} has {ran.partitions[name]} partitions, not {wanted['partitions']}")
        sources = [s for s in ran.sources.values() if s.topic == name]
        for which, attribute in (("keyFormat", "key"), ("valueFormat", "value")):
            expected = wanted.get(which)
            expected = expected.get("format") if isinstance(expected, Mapping) else expected
            if expected is not None and sources and all(getattr(s, attribute).format != expected for s in sources):
                raise Difference("topic", f"topic {name}: {which} is not {expected}")


# ---------------------------------------------------------------- altered expectations


def altered(case: Case) -> Case | None:
    """The case with every expected value changed and no expected error; None if it expects no records."""
    if case.expected_error is not None:
        return replace(case, expected_error=None)
    if not case.outputs:
        return None
    return replace(case, outputs=tuple(_altered_record(r) for r in case.outputs))


def _altered_record(record: Written) -> Written:
    return replace(record, value=_altered_value(record.value))


def _altered_value(value: Any) -> Any:
    """Another value, as near to it as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | Decimal):
        return value + 1
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, list):
        return [_altered_value(value[0]), *value[1:]] if value else [None]
    if isinstance(value, Mapping):
        if not value:
            return {"\0": None}
        last = list(value)[-1]
        return {**value, last: _altered_value(value[last])}
    return "~"

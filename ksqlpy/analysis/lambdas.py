"""Lambdas: their parameters get types from the overload that is tried, their bodies are typed then."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import coerce
from ksqlpy.analysis.scope import Text
from ksqlpy.functions import LambdaArgument, LambdaParameter
from ksqlpy.types import NULL, SqlType

__all__ = ["BodyAnalyzer", "TypedLambda"]


class BodyAnalyzer(Protocol):
    """What types the bodies of lambdas: the analyzer of expressions."""

    text: Text

    @property
    def lambda_depth(self) -> int:
        """In how many lambdas the expression that is being typed stands."""
        ...

    def lambda_body(self, node: exp.Lambda, variables: dict[str, t.LambdaRef]) -> t.Expr:
        """The typed body of a lambda whose parameters are these."""
        ...


class TypedLambda:
    """A lambda while the overload of its function is looked for, which says of what types its parameters are."""

    def __init__(self, analyzer: BodyAnalyzer, node: exp.Lambda) -> None:
        self._analyzer, self._node = analyzer, node
        names = [n.this for n in node.expressions]
        for i, name in enumerate(names):
            if name in names[:i]:
                analyzer.text.refuse(
                    "duplicate-parameter", f"the lambda has two parameters {name}", node.expressions[i]
                )
        self._names = names
        self._parameters: tuple[str, ...] = ()
        self._body: t.Expr = t.Literal(NULL, None)
        self.argument = LambdaArgument(len(names), self._read)

    def _read(self, wanted: LambdaParameter, types: tuple[SqlType, ...]) -> SqlType | None:
        # Named by depth, so that the same lambda written twice is the same expression.
        depth = self._analyzer.lambda_depth
        own = [f"__l{depth}_{i}" for i in range(len(types))]
        said = list(own)
        if wanted.entry:
            entry = own[-2]
            own, said = own[:-1], [*own[:-2], f"{entry}.key", f"{entry}.value"]
        refs = [t.LambdaRef(kind, name) for kind, name in zip(types, said, strict=True)]
        self._parameters = tuple(own)
        self._body = self._analyzer.lambda_body(self._node, dict(zip(self._names, refs, strict=True)))
        return None if self._body.type == NULL else self._body.type

    def typed(self, target: SqlType) -> t.Lambda:
        """The lambda with its body as ``target``."""
        return t.Lambda(target, self._parameters, coerce(self._body, target))

"""Sentences made at random from a Lark grammar."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

from lark import Lark
from lark.grammar import Rule, Symbol

SAMPLES = {
    "NAME": ["a", "b1", "Total", "_x", "date", "map", "Array", "STRUCT", "emit", "key", "2nd", "if", "day", "a@b"],
    "QUOTED_NAME": ["`a b`", '"Quoted"', "`x``y`", "`ARRAY`", "`SELECT`", "`ok`", "`OK`"],
    "STRING": ["'x'", "''", "'it''s'", "'-- no comment'"],
    "SOURCE_TEXT": ["$$ return a $$", "$$\ndef f(x):\n    return 'a''b;'\n$$", "$$$$"],
    "CALL_NAME": ["f", "Count", "array", "if", "date", "_g"],
    "TYPE_NAME": ["int", "BIGINT", "string", "Boolean", "address", "time", "date"],
    "PRECISION": ["20", "38"],
    "SCALE": ["0", "7"],
    "DIGIT_STRING": ["'1.20'", "'-7'", "'.5'"],
    "INTEGER": ["0", "1", "38", "38"],
    "DECIMAL_NUMBER": ["1.5", ".25", "2."],
    "DOUBLE_NUMBER": ["1e3", "2.5E-4"],
}
DEPTH = 14
"""From this depth on the shortest expansion is taken."""


class _Maker:
    def __init__(self, text: str, seed: int) -> None:
        lark = Lark(text, parser="earley")
        self.random = random.Random(seed)
        self.words = {t.name: t.pattern.value for t in lark.terminals}
        self.rules: dict[str, list[Rule]] = defaultdict(list)
        for rule in lark.rules:
            self.rules[rule.origin.name].append(rule)
        self.cost = {name: 1000 for name in self.rules}
        for _ in range(40):
            for name, options in self.rules.items():
                self.cost[name] = min(self.rule_cost(rule) for rule in options)

    def rule_cost(self, rule: Rule) -> int:
        return 1 + max((0 if s.is_term else self.cost[s.name] for s in rule.expansion), default=0)

    def make(self, symbol: Symbol, depth: int) -> list[str]:
        if symbol.is_term:
            return [self.random.choice(SAMPLES.get(symbol.name) or [self.words[symbol.name]])]
        options = self.rules[symbol.name]
        if depth > DEPTH:
            least = min(self.rule_cost(rule) for rule in options)
            options = [rule for rule in options if self.rule_cost(rule) == least]
        rule = self.random.choice(options)
        return [word for part in rule.expansion for word in self.make(part, depth + 1)]


def sentences(grammar: str, count: int, seed: int) -> Iterator[str]:
    """``count`` statements with their semicolons; the same ones for the same seed."""
    maker = _Maker(grammar, seed)
    [statement] = {s for rules in maker.rules.values() for r in rules for s in r.expansion if s.name == "statement"}
    for _ in range(count):
        yield " ".join(maker.make(statement, 0)) + ";"

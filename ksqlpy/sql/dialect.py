"""The language as a dialect of sqlglot, so that ``sqlglot.parse_one(sql, read="ksql")`` works too."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp, generator, parser, tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

from ksqlpy.sql.environment import check_sqlglot

check_sqlglot()

from ksqlpy.sql.generator import KsqlGenerator  # noqa: E402  # builds on classes of which check_sqlglot makes sure
from ksqlpy.sql.statements import Statements  # noqa: E402
from ksqlpy.sql.tokens import KsqlTokenizer, Token  # noqa: E402

__all__ = ["Ksql", "KsqlParser"]


class KsqlParser(parser.Parser):
    """The parser in the form in which sqlglot wants it; the last semicolon may be missing."""

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        """The trees of the statements; raises SyntaxProblem."""
        reader = Statements(raw_tokens, sql)
        trees: list[exp.Expr | None] = []
        while not reader.done:
            trees.append(reader.statement())
            if not reader.done:
                reader.end()
        return trees


class Ksql(Dialect):
    """ksqlDB's SQL: names fold to upper case, an index counts as written, function names are nobody's but ours."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.UPPERCASE
    INDEX_OFFSET = 0
    IDENTIFIERS_CAN_START_WITH_DIGIT = True
    SUPPORTS_USER_DEFINED_TYPES = True
    PRESERVE_ORIGINAL_NAMES = True
    NORMALIZE_FUNCTIONS = False
    STRICT_STRING_CONCAT = True

    Tokenizer: ClassVar[type[tokens.Tokenizer]] = KsqlTokenizer
    Parser: ClassVar[type[parser.Parser]] = KsqlParser
    Generator: ClassVar[type[generator.Generator]] = KsqlGenerator

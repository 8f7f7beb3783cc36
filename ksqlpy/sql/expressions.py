"""Expressions and types.

Source of the rules: ksqlDB manual, "Operators", "Data types", "Lambda functions". The precedence, from loose to tight:
OR, AND, NOT, one predicate (``= <> < IS IN LIKE BETWEEN``; they do not chain), ``||``, ``+ -``, ``* / %``, sign,
``[] ->``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, NoReturn

from sqlglot import exp

from ksqlpy.sql import nodes
from ksqlpy.sql.cursor import Cursor
from ksqlpy.sql.tokens import NUMBER, RESERVED, STRING

__all__ = ["MAX_DEPTH", "MAX_HEIGHT", "Expressions"]

MAX_DEPTH = 100
"""So deep may expressions and types be nested. One level costs up to four Python frames of the usual 1,000."""

MAX_HEIGHT = 200
"""So high may a tree become; a chain of operators, as in ``a OR b OR …``, is one level an operator."""

OR, AND, NOT, PREDICATE, CONCAT, SUM, PRODUCT = range(1, 8)
VALUE = CONCAT
"""Binding strength from which on an expression is a value: neither AND, OR, NOT nor a predicate without brackets."""

_MAX_BIGINT = 2**63 - 1


class Expressions(Cursor):
    """Reads expressions and types."""

    BINARY: ClassVar[Mapping[str, tuple[int, type[exp.Expression]]]] = MappingProxyType(
        {
            "OR": (OR, exp.Or),
            "AND": (AND, exp.And),
            "||": (CONCAT, exp.DPipe),
            "+": (SUM, exp.Add),
            "-": (SUM, exp.Sub),
            "*": (PRODUCT, exp.Mul),
            "/": (PRODUCT, exp.Div),
            "%": (PRODUCT, exp.Mod),
        }
    )
    """Left-associative operators: binding strength and node."""

    COMPARISONS: ClassVar[Mapping[str, type[exp.Expression]]] = MappingProxyType(
        {"=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
    )

    NO_VALUES: ClassVar[tuple[type[exp.Expression], ...]] = (
        exp.Or,
        exp.And,
        exp.Not,
        *COMPARISONS.values(),
        exp.NullSafeEQ,
        exp.NullSafeNEQ,
        exp.Is,
        exp.Between,
        exp.In,
        exp.Like,
        exp.Escape,
    )
    """Nodes that stand inside of a value only in brackets."""

    HEADS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"CASE": "_case", "CAST": "_cast", "DECIMAL": "_decimal", "(": "_brackets"}
    )
    """Reserved words and symbols that begin an expression, and the method that reads it."""

    CONSTANTS: ClassVar[Mapping[str, Callable[[], exp.Expr]]] = MappingProxyType(
        {
            "NULL": exp.Null,
            "TRUE": lambda: exp.Boolean(this=True),
            "FALSE": lambda: exp.Boolean(this=False),
        }
    )

    CONSTRUCTORS: ClassVar[Mapping[tuple[str, str], str]] = MappingProxyType(
        {("ARRAY", "["): "_array", ("MAP", "("): "_map", ("STRUCT", "("): "_struct"}
    )
    """Plain words that begin a constructor when this symbol follows."""

    _depth = 0
    _scopes: tuple[frozenset[str], ...] = ()

    # ------------------------------------------------------------ operators

    def expression(self, strength: int = OR) -> exp.Expr:
        """Reads an expression whose operators bind at least as strong as ``strength``.

        Raises SyntaxProblem, also for one that is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.too_deep(f"More than {MAX_DEPTH} nested expressions")
        begin = self.index
        predicated = self.text == "NOT"
        left = self._prefix(strength)
        count = 0
        while True:
            text = self.text
            found = self.BINARY.get(text)
            if found is not None:
                # After a predicate only AND and OR may follow: a = b || c has been read by its right side.
                if found[0] < strength or (predicated and found[0] >= PREDICATE):
                    break
                self.index += 1
                right = self.expression(found[0] + 1)
                left = self.placed(found[1](this=left, expression=right), begin)
                predicated = predicated or found[0] < PREDICATE
            elif strength <= PREDICATE and not predicated:
                after = self._predicate(left, begin)
                if after is None:
                    break
                left, predicated = after, True
            else:
                break
            count += 1
            if count > MAX_HEIGHT:
                self.too_deep(f"More than {MAX_HEIGHT} operators in a row")
        self._depth -= 1
        return left

    def value(self) -> exp.Expr:
        """Reads a value: an expression without AND, OR, NOT and predicates outside of brackets."""
        return self.expression(VALUE)

    def too_deep(self, message: str) -> NoReturn:
        """Raises the SyntaxProblem for a statement that would exhaust Python's stack."""
        position = min(self.index, len(self.tokens) - 1)
        self.fail_at(position, "statement-too-deep", message, hint="split the statement, or name a part of it")

    def _prefix(self, strength: int) -> exp.Expr:
        begin = self.index
        text = self.text
        if text == "NOT" and strength <= NOT:
            self.index += 1
            return self.placed(exp.Not(this=self.expression(NOT)), begin)
        if text == "-":
            self.index += 1
            if self.is_type(NUMBER):
                return self.placed(exp.Neg(this=self._postfix(self._number(negative=True), self.index - 1)), begin)
            return self.placed(exp.Neg(this=self.expression(PRODUCT + 1)), begin)
        if text == "+":
            self.index += 1
            return self.expression(PRODUCT + 1)
        return self._postfix(self._primary(), begin)

    def _predicate(self, left: exp.Expr, begin: int) -> exp.Expr | None:
        comparison = self.COMPARISONS.get(self.text)
        if comparison is not None:
            self.index += 1
            return self.placed(comparison(this=left, expression=self.value()), begin)
        if self.text == "IS":
            return self._is(left, begin)
        negated = self.text == "NOT" and self.ahead(1) in ("BETWEEN", "IN", "LIKE")
        if negated:
            self.index += 1
        node: exp.Expr
        if self.text == "BETWEEN":
            self.index += 1
            low = self.value()
            self.expect("AND")
            node = exp.Between(this=left, low=low, high=self.value())
        elif self.text == "IN":
            self.index += 1
            self.expect("(")
            items = self.comma_list(self.expression)
            self.expect(")")
            node = exp.In(this=left, expressions=items)
        elif self.text == "LIKE":
            self.index += 1
            node = exp.Like(this=left, expression=self.value())
            if self.text == "ESCAPE":
                self.index += 1
                node = exp.Escape(this=self.placed(node, begin), expression=self.string())
        else:
            return None
        self.placed(node, begin)
        return self.placed(exp.Not(this=node), begin) if negated else node

    def _is(self, left: exp.Expr, begin: int) -> exp.Expr:
        self.index += 1
        negated = self.accept("NOT")
        if self.accept("NULL"):
            null = self.placed(exp.Null(), self.index - 1)
            node = self.placed(exp.Is(this=left, expression=null), begin)
            return self.placed(exp.Not(this=node), begin) if negated else node
        if not self.accept("DISTINCT", "FROM"):
            self.fail()
        kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return self.placed(kind(this=left, expression=self.value()), begin)

    # ------------------------------------------------------------ operands

    def _postfix(self, node: exp.Expr, begin: int) -> exp.Expr:
        count = 0
        while True:
            if self.text == "[":
                self.index += 1
                index = self.value()
                self.expect("]")
                node = self.placed(exp.Bracket(this=node, expressions=[index]), begin)
            elif self.text == "->" and self.ahead(1) != "*":
                self.index += 1
                node = self.placed(nodes.FieldAccess(this=node, expression=self.name("a field name")), begin)
            else:
                return node
            count += 1
            if count > MAX_DEPTH:
                self.too_deep(f"More than {MAX_DEPTH} steps into one value")

    def _primary(self) -> exp.Expr:
        begin = self.index
        if self.is_type(NUMBER):
            return self._number()
        if self.is_type(STRING):
            return self.string()
        text = self.text
        method = self.HEADS.get(text)
        if method is None:
            method = self.CONSTRUCTORS.get((text, self.ahead(1)))
        if method is not None:
            self.index += 1
            node: exp.Expr = getattr(self, method)()
            return self.placed(node, begin)
        constant = self.CONSTANTS.get(text)
        if constant is not None:
            self.index += 1
            return self.placed(constant(), begin)
        if self.is_name():
            return self._name_or_call()
        self.want("an expression")
        self.fail_at_operand()

    def _number(self, negative: bool = False) -> exp.Literal:
        begin = self.index
        text = self.next().text
        if text.isdigit() and int(text.lstrip("0")[:20] or 0) > _MAX_BIGINT + negative:
            message = "the number does not fit a BIGINT"
            self.fail_at(begin, "number-too-large", message, hint="as a decimal it needs a point: 1.0")
        return self.placed(exp.Literal(this=text, is_string=False), begin)

    def _name_or_call(self) -> exp.Expr:
        begin = self.index
        name = self.name()
        if self.text == "(":
            self.index += 1
            if self.text == "DISTINCT" and self.ahead(1) not in (",", ")"):
                self._no_distinct_values(name.this)
            args = self._arguments()
            call = self.placed(exp.Anonymous(this=name.this, expressions=args), begin)
            return self._over(call, begin) if self.text == "OVER" and self.ahead(1) == "(" else call
        if self.text == "." and self.ahead(1) != "*":
            self.index += 1
            return self.placed(exp.Column(this=self.name("a column name"), table=name), begin)
        if any(name.this in scope for scope in self._scopes):
            return self.placed(nodes.LambdaVariable(this=name), begin)
        return self.placed(exp.Column(this=name), begin)

    def _over(self, call: exp.Expr, begin: int) -> exp.Expr:
        if call.this not in nodes.OVER_FUNCTIONS:
            self.fail_at(
                self.index,
                "no-over",
                f"{call.this} takes no OVER: only LAG, LEAD and ROW_NUMBER do",
                hint="aggregates over time take WINDOW TUMBLING (SIZE 1 HOUR) and GROUP BY",
            )
        self.index += 2
        at = self.index
        partition = None
        if self.accept("PARTITION", "BY"):
            partition = self.placed(nodes.PartitionBy(expressions=self.comma_list(self.value)), at)
        order = self.order_by()
        self.expect(")")
        return self.placed(nodes.OverCall(this=call, partition=partition, order=order), begin)

    def order_by(self) -> exp.Expr | None:
        """Reads ORDER BY, if it stands here."""
        begin = self.index
        if not self.accept("ORDER", "BY"):
            return None
        return self.placed(exp.Order(expressions=self.comma_list(self._ordered)), begin)

    def _ordered(self) -> exp.Expr:
        begin = self.index
        this = self.value()
        direction = self.accept_any(("ASC", "DESC"))
        nulls = None
        if self.accept("NULLS"):
            nulls = self.accept_any(("FIRST", "LAST"))
            if not nulls:
                self.fail()
        return self.placed(nodes.OrderItem(this=this, desc=direction == "DESC", nulls=nulls), begin)

    def _no_distinct_values(self, function: str) -> NoReturn:
        """Names the function that takes each value once."""
        instead = {"COUNT": "COUNT_DISTINCT", "COLLECT_LIST": "COLLECT_SET", "TOPK": "TOPKDISTINCT"}.get(function)
        hint = f"{instead}(…) takes each value once" if instead is not None else "it takes all values"
        self.fail_at(self.index, "no-distinct", f"{function} takes no DISTINCT", hint=hint)

    def _arguments(self) -> list[exp.Expr]:
        if self.accept(")"):
            return []
        if self.text == "*" and self.ahead(1) == ")":
            self.index += 2
            return [self._star(self.index - 2)]
        args = self.comma_list(self._argument)
        self.expect(")")
        return args

    def _star(self, begin: int) -> exp.Star:
        node = exp.Star()
        node.meta.update(start=self.tokens[begin].start, end=self.tokens[begin].end)
        return node

    def _argument(self) -> exp.Expr:
        begin = self.index
        if self.is_name() and self.ahead(1) == "=>":
            return self._lambda([self.name()], begin)
        if self.text == "(":
            step = 1
            while self.is_name(step) and self.ahead(step + 1) == ",":
                step += 2
            if self.is_name(step) and self.ahead(step + 1) == ")" and self.ahead(step + 2) == "=>":
                self.index += 1
                names = self.comma_list(self.name)
                self.expect(")")
                return self._lambda(names, begin)
        unit = self.text
        if self.is_type(RESERVED) and unit.removesuffix("S") in nodes.UNIT_MILLIS and self.ahead(1) in (",", ")"):
            self.index += 1
            return self.placed(nodes.IntervalUnit(this=unit), begin)
        return self.expression()

    def _lambda(self, names: list[exp.Identifier], begin: int) -> exp.Expr:
        self.expect("=>")
        outer = self._scopes
        self._scopes = (*outer, frozenset(n.this for n in names))
        body = self.expression()
        self._scopes = outer
        return self.placed(exp.Lambda(this=body, expressions=names), begin)

    # ------------------------------------------------------------ constructs with a head word

    def _brackets(self) -> exp.Expr:
        inner = self.expression()
        self.expect(")")
        return exp.Paren(this=inner)

    def _case(self) -> exp.Expr:
        operand = None if self.at("WHEN") else self.value()
        branches: list[exp.Expr] = []
        self.expect("WHEN")
        while True:
            begin = self.index - 1
            condition = self.expression()
            self.expect("THEN")
            result = self.expression()
            branches.append(self.placed(exp.If(this=condition, true=result), begin))
            if not self.accept("WHEN"):
                break
        default = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return exp.Case(this=operand, ifs=branches, default=default)

    def _cast(self) -> exp.Expr:
        self.expect("(")
        this = self.expression()
        self.expect("AS")
        to = self.type_name()
        self.expect(")")
        return exp.Cast(this=this, to=to)

    def _decimal(self) -> exp.Expr:
        begin = self.index
        digits = self.string("a string with the digits")
        text = digits.this.strip().lstrip("+-")
        if not (text.isascii() and text.replace(".", "", 1).isdigit()):
            self.fail_at(begin, "invalid-number", "DECIMAL needs digits, as in DECIMAL '1.20'")
        return nodes.DecimalLiteral(this=digits)

    def _array(self) -> exp.Expr:
        self.index += 1
        items = [] if self.text == "]" else self.comma_list(self.expression)
        self.expect("]")
        return exp.Array(expressions=items)

    def _map(self) -> exp.Expr:
        return nodes.MapOf(expressions=self._entries(self.expression))

    def _struct(self) -> exp.Expr:
        return exp.Struct(expressions=self._entries(lambda: self.name("a field name")))

    def _entries(self, key: Callable[[], exp.Expr]) -> list[exp.Expr]:
        def entry() -> exp.Expr:
            begin = self.index
            this = key()
            self.expect(":=")
            return self.placed(exp.PropertyEQ(this=this, expression=self.expression()), begin)

        self.expect("(")
        entries = [] if self.text == ")" else self.comma_list(entry)
        self.expect(")")
        return entries

    # ------------------------------------------------------------ types

    def type_name(self) -> nodes.TypeName:
        """Reads a type; raises SyntaxProblem if there is none or its parameters are out of range."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.too_deep(f"More than {MAX_DEPTH} nested types")
        begin = self.index
        node = self._plain_type()
        self.placed(node, begin)
        count = 0
        while self.text == "ARRAY":  # the old way to write ARRAY<T>
            self.index += 1
            count += 1
            if count + self._depth > MAX_DEPTH:
                self.too_deep(f"More than {MAX_DEPTH} nested types")
            node = self.placed(nodes.TypeName(this="ARRAY", expressions=[node]), begin)
        self._depth -= 1
        return node

    def _plain_type(self) -> nodes.TypeName:
        begin = self.index
        for word, method in (("ARRAY", self._array_type), ("MAP", self._map_type), ("STRUCT", self._struct_type)):
            if self.text == word:
                self.index += 1
                if word == "STRUCT" and self.accept("<>"):
                    return nodes.TypeName(this=word, expressions=[])
                self.expect("<")
                parts = method()
                self.expect(">")
                return nodes.TypeName(this=word, expressions=parts)
        if self.text == "DECIMAL":
            self.index += 1
            return self._decimal_type(begin)
        name = self.name("a type")
        known = nodes.BUILT_IN_TYPES.get(name.this)
        if known is None:
            return nodes.TypeName(this=name.this, user=True)
        if known.base == "STRING" and self.text == "(":  # the length is read and ignored; ksqlDB takes a word, too
            self.index += 1
            if self.text == "STRING":
                self.index += 1
            else:
                self._whole_number("a length")
            self.expect(")")
        return nodes.TypeName(this=known.base)

    def _array_type(self) -> list[exp.Expr]:
        return [self.type_name()]

    def _map_type(self) -> list[exp.Expr]:
        key = self.type_name()
        self.expect(",")
        return [key, self.type_name()]

    def _struct_type(self) -> list[exp.Expr]:
        return [] if self.text == ">" else self.comma_list(self._struct_field)

    def _struct_field(self) -> exp.Expr:
        begin = self.index
        name = self.name("a field name")
        return self.placed(nodes.ColumnSpec(this=name, type=self.type_name()), begin)

    def _decimal_type(self, begin: int) -> nodes.TypeName:
        if not self.at("("):
            self.fail(hint="DECIMAL takes a precision and a scale: DECIMAL(10, 2)")
        self.index += 1
        precision = self._whole_number("a precision")
        self.expect(",")
        scale = self._whole_number("a scale")
        self.expect(")")
        if int(precision.this) < 1 or int(scale.this) > int(precision.this):
            self.fail_at(
                begin,
                "invalid-type",
                f"DECIMAL({precision.this}, {scale.this}) is not a type",
                hint="the precision is 1 or more, the scale goes from 0 to the precision",
            )
        return nodes.TypeName(this="DECIMAL", expressions=[precision, scale])

    def _whole_number(self, what: str) -> exp.Literal:
        if not (self.is_type(NUMBER) and self.tokens[self.index].text.isdigit()):
            self.want(what)
            self.fail()
        return self._number()

    # ------------------------------------------------------------ lists

    def comma_list(self, read: Callable[[], exp.Expr]) -> list:  # type: ignore[type-arg]
        """Reads one or more items with commas between them."""
        items = [read()]
        while self.accept(","):
            items.append(read())
        return items

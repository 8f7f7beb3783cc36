"""From syntax to typed expressions: names, overloads, coercion.

Sources of the rules: ksqlDB's operators, type coercion and CAST tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import NoReturn

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.coercion import castable, coerce, decimal_result, time_of_text
from ksqlpy.analysis.comparing import comparable_sides
from ksqlpy.analysis.lambdas import TypedLambda
from ksqlpy.analysis.literals import MAX_INT, decimal_literal, double_literal, loosened, text_as
from ksqlpy.analysis.over import analyze_over
from ksqlpy.analysis.scope import Scope, Text
from ksqlpy.analysis.typenames import data_type
from ksqlpy.errors import similar_names
from ksqlpy.functions import (
    Aggregate,
    AggregateSignature,
    Function,
    TableFunction,
)
from ksqlpy.functions import Call as Resolved
from ksqlpy.functions.conditional import comparable
from ksqlpy.sql import nodes
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    UNIT,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    as_decimal,
    common_type,
    is_numeric,
    widens_to,
)

__all__ = ["NULL", "ExpressionAnalyzer"]

_COMPARISONS: Mapping[type[exp.Expr], str] = MappingProxyType(
    {
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
        exp.NullSafeEQ: "IS NOT DISTINCT FROM",
        exp.NullSafeNEQ: "IS DISTINCT FROM",
    }
)
_ARITHMETIC: Mapping[type[exp.Expr], str] = MappingProxyType(
    {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
)
_LARGEST: dict[SqlType, int] = {INTEGER: MAX_INT, BIGINT: 2**63 - 1}


class ExpressionAnalyzer:
    """Types the expressions of one statement.

    ``aggregates``, ``tables``: whether aggregate functions, and table functions and calls with OVER, are legal where
    the expression stands; ``place`` names that place.
    """

    def __init__(self, scope: Scope, text: Text) -> None:
        self.scope = scope
        self.text = text
        self._aggregates = False
        self._inside_aggregate = False
        self._tables = False
        self._place = "here"
        self._variables: list[dict[str, t.LambdaRef]] = []

    def analyze(self, node: exp.Expr, *, aggregates: bool = False, tables: bool = False, place: str = "here") -> t.Expr:
        """The typed expression; raises AnalysisProblem for whatever is wrong with it."""
        self._aggregates, self._tables, self._place = aggregates, tables, place
        return self._type(node)

    def part(self, node: exp.Expr, place: str) -> t.Expr:
        """As :meth:`analyze`, for a scalar inside of the expression that is being typed."""
        before = self._tables, self._place
        self._tables, self._place = False, place
        value = self._type(node)
        self._tables, self._place = before
        return value

    def condition(self, node: exp.Expr, *, aggregates: bool = False, place: str = "here") -> t.Expr:
        """As :meth:`analyze`, for a BOOLEAN."""
        value = self.analyze(node, aggregates=aggregates, place=place)
        return self._boolean(value, node)

    # ------------------------------------------------------------ dispatch

    def _type(self, node: exp.Expr) -> t.Expr:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            self.text.refuse("not-an-expression", f"this cannot stand {self._place}", node)
        return handler(self, node)

    def _paren(self, node: exp.Expr) -> t.Expr:
        return self._type(node.this)

    def _column(self, node: exp.Expr) -> t.Expr:
        assert isinstance(node, exp.Column)
        if isinstance(node.this, exp.Star):
            self.text.refuse("not-an-expression", "* can only be an item of SELECT", node)
        return self.scope.find(node, self.text)

    def _literal(self, node: exp.Expr) -> t.Expr:
        raw: str = node.this
        if node.args.get("is_string"):
            return t.Literal(STRING, raw)
        if "e" in raw.lower():
            return double_literal(raw, node, self.text)
        if "." in raw:
            return decimal_literal(raw, node, self.text)
        number = int(raw)
        return t.Literal(INTEGER if number <= MAX_INT else BIGINT, number)

    def _decimal_literal(self, node: exp.Expr) -> t.Expr:
        return decimal_literal(node.this.this, node, self.text)

    def _boolean_literal(self, node: exp.Expr) -> t.Expr:
        return t.Literal(BOOLEAN, bool(node.this))

    def _null(self, node: exp.Expr) -> t.Expr:
        return t.Literal(NULL, None)

    def _boolean(self, value: t.Expr, node: exp.Expr) -> t.Expr:
        if value.type == NULL:
            return t.Literal(BOOLEAN, None)
        if value.type != BOOLEAN:
            self.text.refuse("not-boolean", f"a condition must be BOOLEAN, this is {value.type}", node)
        return value

    def _logical(self, node: exp.Expr) -> t.Expr:
        op = "AND" if isinstance(node, exp.And) else "OR"
        left = self._boolean(self._type(node.this), node.this)
        right = self._boolean(self._type(node.expression), node.expression)
        return t.Logical(BOOLEAN, op, left, right)

    def _not(self, node: exp.Expr) -> t.Expr:
        return t.Not(BOOLEAN, self._boolean(self._type(node.this), node.this))

    def _is(self, node: exp.Expr) -> t.Expr:
        return t.IsNull(BOOLEAN, self._type(node.this))

    def _negate(self, node: exp.Expr) -> t.Expr:
        value = self._type(node.this)
        if not is_numeric(value.type):
            self.text.refuse("not-a-number", f"- needs a number, this is {value.type}", node.this)
        if isinstance(value, t.Literal) and isinstance(value.value, int | float | Decimal):
            # Not -value: that would cut a DECIMAL to the 28 digits of Python's context.
            negative = value.value.copy_negate() if isinstance(value.value, Decimal) else -value.value
            # 2147483648 alone is a BIGINT, with its sign an INTEGER.
            kind = INTEGER if value.type == BIGINT and negative == -MAX_INT - 1 else value.type
            if negative <= _LARGEST.get(kind, negative):  # else it wraps, as in Java
                return t.Literal(kind, negative)
        return t.Negate(value.type, value)

    # ------------------------------------------------------------ operators

    def _compare(self, node: exp.Expr) -> t.Expr:
        op = _COMPARISONS[type(node)]
        sides = self._type(node.this), self._type(node.expression)
        if "DISTINCT" not in op and any(s.type == NULL for s in sides):
            self.text.refuse(
                "null-comparison", "a comparison with NULL is never true", node, hint="write IS NULL or IS NOT NULL"
            )
        left, right = comparable_sides(*sides, op, node, (node.this, node.expression), self.text)
        return t.Compare(BOOLEAN, op, left, right)

    def _between(self, node: exp.Expr) -> t.Expr:
        value = self._type(node.this)
        low, high = self._type(node.args["low"]), self._type(node.args["high"])
        value_low, low = comparable_sides(value, low, ">=", node, (node.this, node.args["low"]), self.text)
        value_high, high = comparable_sides(value, high, "<=", node, (node.this, node.args["high"]), self.text)
        if value_low.type == value_high.type:
            return t.Between(BOOLEAN, value_low, low, high)
        common = common_type((low.type, high.type)) or DOUBLE
        return t.Between(BOOLEAN, coerce(value, common), coerce(low, common), coerce(high, common))

    def _in(self, node: exp.Expr) -> t.Expr:
        value = self._type(node.this)
        items = [self._type(item) for item in node.expressions]
        first = next((e.type for e in (value, *items) if e.type != NULL), BOOLEAN)
        items = [loosened(item, first, at, self.text) for item, at in zip(items, node.expressions, strict=True)]
        pairs = [
            comparable_sides(value, i, "=", at, (node.this, at), self.text)
            for i, at in zip(items, node.expressions, strict=True)
        ]
        common = common_type([p[1].type for p in pairs] + [value.type]) if value.type != NULL else pairs[0][1].type
        if common is None:
            common = pairs[0][0].type
        return t.InList(BOOLEAN, coerce(value, common), tuple(coerce(p[1], common) for p in pairs))

    def _like(self, node: exp.Expr) -> t.Expr:
        escape = None
        if isinstance(node, exp.Escape):
            escape = node.expression.this
            if not node.expression.args.get("is_string") or len(escape) != 1:
                self.text.refuse("invalid-escape", "ESCAPE takes one character", node.expression)
            node = node.this
        value, pattern = self._type(node.this), self._type(node.expression)
        for side, at in ((value, node.this), (pattern, node.expression)):
            if side.type not in (STRING, NULL):
                self.text.refuse("not-comparable", f"LIKE compares STRINGs, this is {side.type}", at)
        return t.Like(BOOLEAN, coerce(value, STRING), coerce(pattern, STRING), escape)

    def _arithmetic(self, node: exp.Expr) -> t.Expr:
        op = _ARITHMETIC[type(node)]
        left, right = self._type(node.this), self._type(node.expression)
        if left.type == NULL or right.type == NULL:
            self.text.refuse(
                "null-arithmetic", f"{op} with NULL is always NULL", node, hint="CAST(NULL AS …) if that is meant"
            )
        if op == "+" and left.type == right.type == STRING:
            return t.Arithmetic(STRING, "+", left, right)
        if not (is_numeric(left.type) and is_numeric(right.type)):
            self.text.refuse(
                "not-a-number", f"{left.type} {op} {right.type} has no meaning", node, hint="CAST one side"
            )
        if DOUBLE in (left.type, right.type):
            return t.Arithmetic(DOUBLE, op, coerce(left, DOUBLE), coerce(right, DOUBLE))
        if isinstance(left.type, DecimalType) or isinstance(right.type, DecimalType):
            a, b = as_decimal(left.type), as_decimal(right.type)
            return t.Arithmetic(decimal_result(op, a, b), op, coerce(left, a), coerce(right, b))
        whole = BIGINT if BIGINT in (left.type, right.type) else INTEGER
        return t.Arithmetic(whole, op, coerce(left, whole), coerce(right, whole))

    def _concat(self, node: exp.Expr) -> t.Expr:
        return self._call("CONCAT", [node.this, node.expression], node)

    # ------------------------------------------------------------ CASE, CAST, access, constructors

    def _same_type(self, values: Sequence[t.Expr], at: Sequence[exp.Expr], what: str) -> tuple[t.Expr, ...]:
        known = [v.type for v in values if v.type != NULL]
        if known:
            values = [loosened(v, known[0], n, self.text) for v, n in zip(values, at, strict=True)]
            known = [v.type for v in values if v.type != NULL]
        common = common_type(known)
        if known and common is None:
            first = known[0]
            odd = next(i for i, v in enumerate(values) if v.type != NULL and common_type((first, v.type)) is None)
            self.text.refuse("mixed-types", f"{what} must be of one type: {first} and {values[odd].type}", at[odd])
        return tuple(coerce(v, common or NULL) for v in values)

    def _case(self, node: exp.Expr) -> t.Expr:
        if node.args.get("this") is not None:
            self.text.refuse(
                "simple-case", "CASE takes conditions", node.this, hint="write CASE WHEN value = … THEN … END"
            )
        for call in node.find_all(exp.Anonymous):
            if isinstance(self.text.functions.find(call.this), TableFunction):
                self._misplaced_table_function(call.this.upper(), "inside CASE", call)
        ifs = node.args["ifs"]
        conditions = [self._boolean(self._type(i.this), i.this) for i in ifs]
        results = [self._type(i.args["true"]) for i in ifs]
        at = [i.args["true"] for i in ifs]
        default = node.args.get("default")
        if default is not None:
            results.append(self._type(default))
            at.append(default)
        results = list(self._same_type(results, at, "the results of CASE"))
        if results[0].type == NULL:
            self.text.refuse("untyped", "CASE needs a result with a type", node, hint="CAST one NULL")
        last = results.pop() if default is not None else t.Literal(results[0].type, None)
        return t.Case(last.type, tuple(zip(conditions, results, strict=True)), last)

    def _cast(self, node: exp.Expr) -> t.Expr:
        target = data_type(node.args["to"], self.text)
        value = self._type(node.this)
        if not castable(value.type, target):
            self.text.refuse("no-cast", f"{value.type} cannot be cast to {target}", node)
        return coerce(value, target)

    def _field(self, node: exp.Expr) -> t.Expr:
        value, name = self._type(node.this), node.expression.this
        if not isinstance(value.type, StructType):
            self.text.refuse("not-a-struct", f"-> needs a STRUCT, this is {value.type}", node.this)
        found = value.type.field(name)
        if found is None:
            self.text.refuse(
                "unknown-field",
                f"the struct has no field {name}",
                node.expression,
                similar=similar_names(name, [n for n, _ in value.type.fields]),
                hint=f"it is {value.type}",
            )
        return t.FieldRef(found, value, name)

    def _index(self, node: exp.Expr) -> t.Expr:
        value, index = self._type(node.this), self._type(node.expressions[0])
        if isinstance(value.type, ArrayType):
            if index.type not in (INTEGER, BIGINT):
                self.text.refuse(
                    "bad-index", f"an array index is an INTEGER, this is {index.type}", node.expressions[0]
                )
            return t.Index(value.type.item, value, index)
        if isinstance(value.type, MapType):
            if not widens_to(index.type, value.type.key):
                self.text.refuse(
                    "bad-index", f"the keys of the map are {value.type.key}, this is {index.type}", node.expressions[0]
                )
            return t.Index(value.type.value, value, coerce(index, value.type.key))
        self.text.refuse("bad-index", f"[] needs an ARRAY or a MAP, this is {value.type}", node.this)

    def _array(self, node: exp.Expr) -> t.Expr:
        items = self._same_type([self._type(i) for i in node.expressions], node.expressions, "the items of an ARRAY")
        if not items or items[0].type == NULL:
            self.text.refuse("untyped", "an ARRAY needs an item with a type", node, hint="CAST one item")
        return t.ArrayOf(ArrayType(items[0].type), items)

    def _map(self, node: exp.Expr) -> t.Expr:
        entries = node.expressions
        keys = self._same_type([self._type(e.this) for e in entries], [e.this for e in entries], "the keys of a MAP")
        values = self._same_type(
            [self._type(e.expression) for e in entries], [e.expression for e in entries], "the values of a MAP"
        )
        if not entries or NULL in (keys[0].type, values[0].type):
            self.text.refuse("untyped", "a MAP needs a key and a value with a type", node, hint="CAST one of them")
        if not comparable(keys[0].type):
            self.text.refuse("bad-key", f"{keys[0].type} cannot be the key of a MAP", entries[0].this)
        return t.MapOf(MapType(keys[0].type, values[0].type), tuple(zip(keys, values, strict=True)))

    def _struct(self, node: exp.Expr) -> t.Expr:
        fields = [(e.this.this, self._type(e.expression)) for e in node.expressions]
        names = [n for n, _ in fields]
        for e, (name, value) in zip(node.expressions, fields, strict=True):
            if names.count(name) > 1:
                self.text.refuse("duplicate-field", f"field {name} is given twice", e)
            if value.type == NULL:
                self.text.refuse("untyped", f"field {name} needs a type", e, hint="CAST the NULL")
        return t.StructOf(StructType(tuple((n, v.type) for n, v in fields)), tuple(fields))

    # ------------------------------------------------------------ functions

    def _function(self, node: exp.Expr) -> t.Expr:
        return self._call(node.this, node.expressions, node)

    def _over_call(self, node: exp.Expr) -> t.Expr:
        assert isinstance(node, nodes.OverCall)
        if not self._tables or self._variables:
            inside = "inside a lambda" if self._variables else self._place
            hint = "select it in a query inside: SELECT … FROM (SELECT …, LAG(…) OVER (…) AS before FROM …) WHERE …"
            self.text.refuse("misplaced-over", f"{node.this.this} cannot stand {inside}", node, hint=hint)
        return analyze_over(self, node)

    def _call(self, name: str, arguments: Sequence[exp.Expr], node: exp.Expr) -> t.Expr:
        if name in nodes.OVER_FUNCTIONS:
            self.text.refuse("no-over-clause", f"{name} needs OVER", node, hint=f"{name}(…) OVER (PARTITION BY …)")
        function = self.text.functions.get(name, self.text.span(node), self.text.sql)
        aggregate = isinstance(function, Aggregate)
        if aggregate and not self._aggregates:
            self.text.refuse(
                "misplaced-aggregate", f"aggregate function {function.name} cannot stand {self._place}", node
            )
        if aggregate and (self._inside_aggregate or self._variables):
            inside = "a lambda" if self._variables else "another"
            self.text.refuse("misplaced-aggregate", f"an aggregate function cannot stand inside {inside}", node)
        table = isinstance(function, TableFunction)
        if table and (not self._tables or self._variables):
            self._misplaced_table_function(function.name, "inside a lambda" if self._variables else self._place, node)
        star = len(arguments) == 1 and isinstance(arguments[0], exp.Star)
        before = self._inside_aggregate, self._tables, self._place
        if aggregate or table:
            self._inside_aggregate, self._tables = before[0] or aggregate, False
            self._place = f"inside {function.name}" if table else self._place
        values = [] if star and aggregate else [self._argument(a, function, i) for i, a in enumerate(arguments)]
        if aggregate and not values and all(s.parameters for s in function.signatures):
            # Where it is no form of its own, as of COUNT, * or nothing means ROWTIME (ksqlDB, aggregate functions).
            values = [t.ROWTIME]
        time = time_of_text(function, values)
        if time is not None:
            values = [
                text_as(v, time, a, self.text) if isinstance(v, t.Literal) and v.type == STRING else v
                for v, a in zip(values, arguments, strict=True)
            ]
        types = [v.argument if isinstance(v, TypedLambda) else None if v.type == NULL else v.type for v in values]
        call = self.text.functions.resolve(name, types, self.text.span(node), self.text.sql)
        self._inside_aggregate, self._tables, self._place = before
        brought = tuple(
            v.typed(a) if isinstance(v, TypedLambda) else coerce(v, a)
            for v, a in zip(values, call.arguments, strict=True)
        )
        if aggregate:
            self._check_constants(call, brought, arguments)
            return t.AggregateCall(call.returns, call, brought)
        if table:
            return t.TableCall(call.returns, call, brought)
        return t.FunctionCall(call.returns, call, brought)

    def _misplaced_table_function(self, name: str, place: str, node: exp.Expr) -> NoReturn:
        """Refuses a table function, and says what to write instead where there are rows that it could make."""
        hint = None
        streams = [r.source.kind == "STREAM" for r in self.scope.relations[:1]]
        if streams == [True] and place != "inside a lambda":
            hint = f"select it in a query inside, and name it there: … FROM (SELECT …, {name}(…) AS item FROM …) AS x …"
        self.text.refuse("misplaced-table-function", f"table function {name} cannot stand {place}", node, hint=hint)

    def _check_constants(self, call: Resolved, values: Sequence[t.Expr], at: Sequence[exp.Expr]) -> None:
        """Refuses arguments that configure an aggregate and are no literals, or numbers below 1."""
        signature = call.signature
        assert isinstance(signature, AggregateSignature)
        for value, node in list(zip(values, at, strict=False))[len(values) - signature.constants :]:
            if not isinstance(value, t.Literal) or value.value is None:
                self.text.refuse("not-a-literal", f"this argument of {call.function.name} must be a literal", node)
            if value.type == INTEGER and isinstance(value.value, int) and value.value < 1:
                self.text.refuse("bad-argument", f"this argument of {call.function.name} must be at least 1", node)

    def _argument(self, node: exp.Expr, function: Function, place: int) -> t.Expr | TypedLambda:
        if isinstance(node, nodes.IntervalUnit):
            return t.Literal(UNIT, node.this.removesuffix("S"))
        # DAY and its like are names, too; which one is meant is said by what the function takes there.
        name = isinstance(node, exp.Column) and node.args.get("table") is None and node.name in nodes.UNIT_MILLIS
        if name and any(s.parameters[place : place + 1] == (UNIT,) for s in function.signatures):
            return t.Literal(UNIT, node.name)
        return TypedLambda(self, node) if isinstance(node, exp.Lambda) else self._type(node)

    def _lambda_variable(self, node: exp.Expr) -> t.Expr:
        name: str = node.this.this
        return next(v[name] for v in reversed(self._variables) if name in v)

    def lambda_body(self, node: exp.Lambda, variables: dict[str, t.LambdaRef]) -> t.Expr:
        """The typed body of a lambda whose parameters are these."""
        self._variables.append(variables)
        try:
            return self._type(node.this)
        finally:
            self._variables.pop()

    @property
    def lambda_depth(self) -> int:
        """In how many lambdas the expression that is being typed stands."""
        return len(self._variables)


_Handler = Callable[[ExpressionAnalyzer, exp.Expr], t.Expr]

# The analyzer's own methods by node class: the closed list of what an expression can be.
_HANDLERS: dict[type[exp.Expr], _Handler] = {
    exp.Paren: ExpressionAnalyzer._paren,
    exp.Column: ExpressionAnalyzer._column,
    exp.Literal: ExpressionAnalyzer._literal,
    nodes.DecimalLiteral: ExpressionAnalyzer._decimal_literal,
    exp.Boolean: ExpressionAnalyzer._boolean_literal,
    exp.Null: ExpressionAnalyzer._null,
    exp.And: ExpressionAnalyzer._logical,
    exp.Or: ExpressionAnalyzer._logical,
    exp.Not: ExpressionAnalyzer._not,
    exp.Is: ExpressionAnalyzer._is,
    exp.Neg: ExpressionAnalyzer._negate,
    **dict.fromkeys(_COMPARISONS, ExpressionAnalyzer._compare),
    exp.Between: ExpressionAnalyzer._between,
    exp.In: ExpressionAnalyzer._in,
    exp.Like: ExpressionAnalyzer._like,
    exp.Escape: ExpressionAnalyzer._like,
    **dict.fromkeys(_ARITHMETIC, ExpressionAnalyzer._arithmetic),
    exp.DPipe: ExpressionAnalyzer._concat,
    exp.Case: ExpressionAnalyzer._case,
    exp.Cast: ExpressionAnalyzer._cast,
    nodes.FieldAccess: ExpressionAnalyzer._field,
    exp.Bracket: ExpressionAnalyzer._index,
    exp.Array: ExpressionAnalyzer._array,
    nodes.MapOf: ExpressionAnalyzer._map,
    exp.Struct: ExpressionAnalyzer._struct,
    exp.Anonymous: ExpressionAnalyzer._function,
    nodes.OverCall: ExpressionAnalyzer._over_call,
    nodes.LambdaVariable: ExpressionAnalyzer._lambda_variable,
}

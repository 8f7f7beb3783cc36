"""Statements.

Source of the rules: ksqlDB manual, "ksqlDB SQL reference", one page a statement. The language is closed: what is not
in :attr:`Statements.STATEMENTS` is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, NoReturn

from sqlglot import exp

from ksqlpy.errors import SyntaxProblem, similar_names
from ksqlpy.sql import nodes
from ksqlpy.sql.expressions import MAX_HEIGHT
from ksqlpy.sql.queries import Queries
from ksqlpy.sql.tokens import NUMBER, SOURCE_TEXT, STRING

__all__ = ["Statements"]


ROLE = "the name of the role"
FUNCTION = "the name of the function"


class Statements(Queries):
    """Reads statements."""

    STATEMENTS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "ALTER": "_alter",
            "ASSERT": "_assert",
            "CREATE": "_create",
            "DEFINE": "_define",
            "DELETE": "_delete",
            "DESCRIBE": "_describe",
            "DROP": "_drop",
            "EXPLAIN": "_explain",
            "GRANT": "_grant",
            "INSERT": "_insert",
            "LIST": "_show",
            "PAUSE": "_pause",
            "PRINT": "_print",
            "RESUME": "_resume",
            "REVOKE": "_revoke",
            "REWIND": "_rewind",
            "RUN": "_run",
            "SELECT": "_query",
            "SET": "_set",
            "SHOW": "_show",
            "SKIP": "_skip",
            "TERMINATE": "_terminate",
            "UNDEFINE": "_undefine",
            "UNSET": "_unset",
            "WITH": "_query",
        }
    )
    """First word of a statement, and the method that reads it from the second word on."""

    RIGHTS: ClassVar[tuple[str, ...]] = ("SELECT", "INSERT", "CREATE", "ALTER", "DROP", "OPERATE")
    """What GRANT gives, beside ALL of them."""

    SHOWN: ClassVar[Mapping[str, bool]] = MappingProxyType(
        {
            "STREAMS": True,
            "TABLES": True,
            "QUERIES": True,
            "TOPICS": True,
            "PROPERTIES": False,
            "FUNCTIONS": False,
            "TYPES": False,
            "VARIABLES": False,
            "ROLES": False,
            "GRANTS": False,
            "CONNECTORS": False,
            "CONNECTOR PLUGINS": False,
            "SOURCE CONNECTORS": False,
            "SINK CONNECTORS": False,
        }
    )
    """What SHOW takes, and whether EXTENDED may follow."""

    def statement(self) -> exp.Expr:
        """Reads one statement up to, but without, its semicolon; raises SyntaxProblem."""
        begin = self.index
        method = self.STATEMENTS.get(self.text)
        if method is None:
            self._unknown()
        self.index += 1
        try:
            node: exp.Expr = getattr(self, method)()
        except RecursionError:  # the caller itself stands deep in the stack
            self.too_deep("The statement is nested too deeply")
        if self.index - begin > MAX_HEIGHT:  # a tree is never higher than its tokens are many
            self._check_height(node)
        return self.placed(node, begin)

    def _check_height(self, root: exp.Expr) -> None:
        level, height = [root], 0
        while level:
            height += 1
            if height > MAX_HEIGHT:
                self.too_deep(f"The tree of the statement is higher than {MAX_HEIGHT}")
            level = [child for node in level for child in node.iter_expressions()]

    def end(self) -> None:
        """Reads the semicolon that ends a statement; raises SyntaxProblem if it is missing."""
        if self.accept(";"):
            return
        if self.done:
            self.fail_at(self.index, "missing-semicolon", "the statement has no end", hint="end the statement with ;")
        self.fail()

    def _unknown(self) -> NoReturn:
        place = self.span(self.index)
        written = self.sql[place.start : place.end][:40]
        raise SyntaxProblem(
            "unknown-statement",
            f"no statement begins with {written}",
            span=place,
            sql=self.sql,
            hint=f"statements begin with {', '.join(self.STATEMENTS)}",
            similar=similar_names(self.text, self.STATEMENTS, limit=1),
        )

    # ------------------------------------------------------------ sources

    def _query(self) -> exp.Expr:
        self.index -= 1
        return self.query()

    def _create(self) -> exp.Expr:
        if self.accept("TYPE"):
            exists = self.accept("IF", "NOT", "EXISTS")
            name = self.name("the name of the type")
            self.expect("AS")
            return nodes.CreateType(this=name, type=self.type_name(), exists=exists)
        if self.accept("ROLE"):
            exists = self.accept("IF", "NOT", "EXISTS")
            return nodes.CreateRole(this=self.name(ROLE), exists=exists)
        for kind in ("SOURCE", "SINK"):
            if self.accept(kind, "CONNECTOR"):
                exists = self.accept("IF", "NOT", "EXISTS")
                name = self.name("the name of the connector")
                self.expect("WITH")
                return nodes.CreateConnector(this=name, kind=kind, properties=self._properties(), exists=exists)
        return self._create_function() or self._create_source()

    def _create_function(self) -> nodes.CreateFunction | None:
        """Reads CREATE FUNCTION; None where something else is made, such as a table that is called FUNCTION."""
        begin = self.index
        replace = self.accept("OR", "REPLACE")
        kind = self.accept_any(("AGGREGATE", "TABLE")) or "SCALAR"
        if not (self.at("FUNCTION") and (kind != "TABLE" or self.is_name(1))):
            self.index = begin
            return None
        self.index += 1
        exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name(FUNCTION)
        self.expect("(")
        parameters = [] if self.at(")") else self.comma_list(self._parameter)
        self.expect(")")
        self.expect("RETURNS")
        returns, state = self.type_name(), None
        if kind == "AGGREGATE":
            self.expect("STATE")
            state = self.type_name()
        self.expect("LANGUAGE", "PYTHON")
        determinism = "DETERMINISTIC" if self.accept("DETERMINISTIC") else None
        if determinism is None and self.accept("NOT", "DETERMINISTIC"):
            determinism = "NOT DETERMINISTIC"
        properties = self._properties() if self.accept("WITH") else None
        self.expect("AS")
        return nodes.CreateFunction(
            this=name,
            kind=kind,
            parameters=parameters,
            returns=returns,
            state=state,
            determinism=determinism,
            properties=properties,
            body=self._source_text(),
            exists=exists,
            replace=replace,
        )

    def _parameter(self) -> exp.Expr:
        begin = self.index
        name = self.name("a parameter")
        return self.placed(nodes.ColumnSpec(this=name, type=self.type_name()), begin)

    def _source_text(self) -> exp.Expr:
        if self.is_type(STRING):
            return self.string()
        if not self.is_type(SOURCE_TEXT):
            self.want("a text in $$ … $$")
            self.want("'module:callable'")
            self.fail()
        begin = self.index
        return self.placed(nodes.SourceText(this=self.next().text), begin)

    def _create_source(self) -> nodes.CreateSource:
        replace = self.accept("OR", "REPLACE")
        read_only = self.accept("SOURCE")
        kind = self._kind()
        exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name(f"the name of the {kind.lower()}")
        columns = self._columns()
        properties = self._properties() if self.accept("WITH") else None
        query = None
        if columns is None and not read_only and self.accept("AS"):
            if not self.begins_query():
                self.fail()
            query = self.query()
        return nodes.CreateSource(
            this=name,
            kind=kind,
            columns=columns,
            properties=properties,
            query=query,
            exists=exists,
            replace=replace,
            source=read_only,
        )

    def _columns(self) -> list[exp.Expr] | None:
        if not self.accept("("):
            return None
        columns = self.comma_list(self._column)
        self.expect(")")
        return columns

    def _kind(self) -> str:
        kind = self.accept_any(("STREAM", "TABLE"))
        if not kind:
            self.fail()
        return kind

    def _column(self) -> exp.Expr:
        begin = self.index
        name = self.name("a column name")
        type_name = self.type_name()
        constraint = header = None
        if self.accept("PRIMARY", "KEY"):
            constraint = "PRIMARY KEY"
        elif self.accept("HEADER"):
            constraint = "HEADER"
            self.expect("(")
            header = self.string("the key of a header in '…'")
            self.expect(")")
        else:
            constraint = self.accept_any(("KEY", "HEADERS")) or None
        return self.placed(nodes.ColumnSpec(this=name, type=type_name, constraint=constraint, header=header), begin)

    def _properties(self) -> list[exp.Expr]:
        self.expect("(")
        properties = self.comma_list(self._property)
        self.expect(")")
        return properties

    def _property(self) -> exp.Expr:
        begin = self.index
        key: exp.Expr = self.string() if self.is_type(STRING) else self.name("a property")
        self.expect("=")
        return self.placed(exp.Property(this=key, value=self._literal()), begin)

    def _literal(self) -> exp.Expr:
        begin = self.index
        if self.is_type(STRING):
            return self.string()
        if self.text == "-" and self.is_type(NUMBER, steps=1):
            self.index += 1
            return self.placed(exp.Neg(this=self._number(negative=True)), begin)
        if self.is_type(NUMBER):
            return self._number()
        constant = self.CONSTANTS.get(self.text)
        if constant is None:
            self.want("a literal")
            self.fail()
        self.index += 1
        return self.placed(constant(), begin)

    def _insert(self) -> exp.Expr:
        self.expect("INTO")
        name = self.name("a stream or table")
        properties = None
        if self.text == "WITH" and self.ahead(1) == "(":
            self.index += 1
            properties = self._properties()
        if self.begins_query():
            return nodes.InsertSelect(this=name, properties=properties, query=self.query())
        if properties is not None:
            self.fail()
        columns = self._names()
        self.expect("VALUES")
        return nodes.InsertValues(this=name, columns=columns, expressions=self._values())

    def _names(self) -> list[exp.Expr] | None:
        if not self.accept("("):
            return None
        names = self.comma_list(lambda: self.name("a column name"))
        self.expect(")")
        return names

    def _values(self) -> list[exp.Expr]:
        self.expect("(")
        values = self.comma_list(self.value)
        self.expect(")")
        return values

    def _delete(self) -> exp.Expr:
        self.expect("FROM")
        name = self.name("a table")
        begin = self.index
        self.expect("WHERE")
        return nodes.DeleteFrom(this=name, where=self.placed(exp.Where(this=self.expression()), begin))

    def _drop(self) -> exp.Expr:
        if self.accept("TYPE"):
            exists = self.accept("IF", "EXISTS")
            return nodes.DropType(this=self.name("the name of the type"), exists=exists)
        if self.accept("ROLE"):
            exists = self.accept("IF", "EXISTS")
            return nodes.DropRole(this=self.name(ROLE), exists=exists)
        if self.accept("FUNCTION"):
            exists = self.accept("IF", "EXISTS")
            return nodes.DropFunction(this=self.name(FUNCTION), exists=exists)
        if self.accept("CONNECTOR"):
            exists = self.accept("IF", "EXISTS")
            return nodes.DropConnector(this=self.name("the name of the connector"), exists=exists)
        kind = self._kind()
        exists = self.accept("IF", "EXISTS")
        name = self.name(f"the name of the {kind.lower()}")
        topic = self.accept("DELETE", "TOPIC")
        return nodes.DropSource(this=name, kind=kind, exists=exists, delete_topic=topic, cascade=self.accept("CASCADE"))

    def _alter(self) -> exp.Expr:
        if self.accept("SYSTEM"):
            return nodes.AlterSystem(**self._assignment())
        kind = self._kind()
        name = self.name(f"the name of the {kind.lower()}")
        self.expect("ADD")
        columns = [self._added()]
        while self.accept(","):
            self.accept("ADD")
            columns.append(self._added())
        return nodes.AlterSource(this=name, kind=kind, columns=columns)

    def _added(self) -> exp.Expr:
        # COLUMN is a plain name, too: ADD COLUMN INT adds a column that is called COLUMN.
        if self.text == "COLUMN" and self.is_name(1) and (self.is_name(2) or self.ahead(2) == "DECIMAL"):
            self.index += 1
        else:
            self.want("COLUMN")
        begin = self.index
        name = self.name("a column name")
        return self.placed(nodes.ColumnSpec(this=name, type=self.type_name()), begin)

    # ------------------------------------------------------------ assertions

    def _assert(self) -> exp.Expr:
        if self.accept("VALUES"):
            name, columns = self.name("a stream or table"), self._names()
            self.expect("VALUES")
            return nodes.AssertValues(this=name, columns=columns, expressions=self._values())
        if self.accept("NULL", "VALUES"):
            name, columns = self.name("a stream or table"), self._names()
            self.expect("KEY")
            return nodes.AssertTombstone(this=name, columns=columns, expressions=self._values())
        absent = self.accept("NOT", "EXISTS")
        if self.accept("TOPIC"):
            return self._assert_topic(absent)
        if self.accept("SCHEMA"):
            return self._assert_schema(absent)
        if absent:
            self.fail()
        kind = self._kind()
        name = self.name(f"the name of the {kind.lower()}")
        columns = self._columns()
        properties = self._properties() if self.accept("WITH") else None
        return nodes.AssertSource(this=name, kind=kind, columns=columns, properties=properties)

    def _assert_topic(self, absent: bool) -> exp.Expr:
        name = self._resource("a topic")
        properties = self._properties() if self.accept("WITH") else None
        return nodes.AssertTopic(this=name, absent=absent, properties=properties, timeout=self._timeout())

    def _assert_schema(self, absent: bool) -> exp.Expr:
        subject = self._resource("a subject") if self.accept("SUBJECT") else None
        number = self._whole_number("the id of a schema") if self.accept("ID") else None
        if subject is None and number is None:
            self.fail()
        return nodes.AssertSchema(absent=absent, subject=subject, id=number, timeout=self._timeout())

    def _timeout(self) -> exp.Expr | None:
        return self._duration() if self.accept("TIMEOUT") else None

    def _resource(self, what: str) -> exp.Expr:
        """The name of something outside, whose case matters: a string, or a name, which folds like all names."""
        return self.string() if self.is_type(STRING) else self.name(what)

    # ------------------------------------------------------------ the rest

    def _show(self) -> exp.Expr:
        every = self.accept("ALL")
        kind = self._shown(("TOPICS",) if every else self.SHOWN)
        role = self.name(ROLE) if kind == "GRANTS" and self.accept("FOR") else None
        return nodes.Show(kind=kind, extended=self.SHOWN[kind] and self.accept("EXTENDED"), all=every, role=role)

    def _shown(self, kinds: Iterable[str]) -> str:
        for kind in kinds:
            if self.accept(*kind.split()):
                return kind
        self.fail()

    def _grant(self) -> exp.Expr:
        rights, on = self._rights(), self._granted_on()
        self.expect("TO")
        return nodes.Grant(rights=rights, this=on, role=self.name(ROLE))

    def _revoke(self) -> exp.Expr:
        rights, on = self._rights(), self._granted_on()
        self.expect("FROM")
        return nodes.Revoke(rights=rights, this=on, role=self.name(ROLE))

    def _rights(self) -> str:
        """The words of the rights, in the order of :attr:`RIGHTS`, or ALL."""
        if self.accept("ALL"):
            return "ALL"
        named = {self._right()}
        while self.accept(","):
            named.add(self._right())
        return ", ".join(r for r in self.RIGHTS if r in named)

    def _right(self) -> str:
        right = self.accept_any(self.RIGHTS)
        if not right:
            self.fail()
        return right

    def _granted_on(self) -> exp.Expr:
        self.expect("ON")
        begin = self.index
        name = like = None
        kind = "TOPIC" if self.accept("TOPIC") else "SOURCE"
        if kind == "TOPIC":
            name = self._resource("a topic")
        elif self.accept("ALL"):
            kind = "TOPIC" if self.accept("TOPICS") else "SOURCE"
            like = self.string("a pattern in '…'") if self.accept("LIKE") else None
        else:
            name = self.name("a stream or table")
        return self.placed(nodes.GrantedOn(kind=kind, this=name, like=like), begin)

    def _print(self) -> exp.Expr:
        name = self._resource("a topic")
        beginning = self.accept("FROM", "BEGINNING")
        interval = self._whole_number("a number of records") if self.accept_any(("INTERVAL", "SAMPLE")) else None
        begin, limit = self.index, None
        if self.accept("LIMIT"):
            limit = self.placed(exp.Limit(expression=self._whole_number("a number of records")), begin)
        return nodes.Print(this=name, beginning=beginning, interval=interval, limit=limit)

    def _describe(self) -> exp.Expr:
        if self.text == "FUNCTION" and self.is_name(1):
            self.index += 1
            return nodes.DescribeFunction(this=self.name())
        if self.accept("CONNECTOR"):
            return nodes.DescribeConnector(this=self.name("a connector"))
        if self.accept("STREAMS"):
            return nodes.DescribeStreams(extended=self.accept("EXTENDED"))
        name = self.name("a stream or table")
        return nodes.DescribeSource(this=name, extended=self.accept("EXTENDED"))

    def _explain(self) -> exp.Expr:
        begin = self.index
        if self.begins_query():
            return nodes.Explain(statement=self.query())
        statement: exp.Expr
        if self.accept("CREATE"):
            statement = self._create_source()
        elif self.accept("INSERT"):
            statement = self._insert()
        else:
            return nodes.Explain(this=self.name("a query id"))
        if statement.args.get("query") is None:
            self.fail_at(begin, "not-a-query", "this statement has no query to explain", hint="EXPLAIN a SELECT")
        return nodes.Explain(statement=self.placed(statement, begin))

    def _terminate(self) -> exp.Expr:
        return nodes.Terminate(**self._which())

    def _pause(self) -> exp.Expr:
        return nodes.Pause(**self._which())

    def _resume(self) -> exp.Expr:
        return nodes.Resume(**self._which())

    def _skip(self) -> exp.Expr:
        record = self.string("a record as 'topic/partition/offset'")
        self.expect("FOR")
        return nodes.Skip(record=record, **self._which())

    def _rewind(self) -> exp.Expr:
        query = self.name("a query id")
        self.expect("TO")
        if self.accept("BEGINNING"):
            return nodes.Rewind(this=query)
        return nodes.Rewind(this=query, time=self.string("BEGINNING or a time in '…'"))

    def _which(self) -> dict[str, object]:
        return {"all": True} if self.accept("ALL") else {"this": self.name("a query id")}

    def _assignment(self) -> dict[str, exp.Expr]:
        key = self.string("a property in '…'")
        self.expect("=")
        return {"this": key, "expression": self.string("a value in '…'")}

    def _set(self) -> exp.Expr:
        return nodes.SetProperty(**self._assignment())

    def _unset(self) -> exp.Expr:
        return nodes.UnsetProperty(this=self.string("a property in '…'"))

    def _define(self) -> exp.Expr:
        name = self.name("a variable")
        self.expect("=")
        return nodes.Define(this=name, expression=self.string("a value in '…'"))

    def _undefine(self) -> exp.Expr:
        return nodes.Undefine(this=self.name("a variable"))

    def _run(self) -> exp.Expr:
        self.expect("SCRIPT")
        return nodes.RunScript(this=self.string("a file in '…'"))

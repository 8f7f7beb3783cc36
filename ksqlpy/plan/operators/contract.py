"""What every operator of a logical plan must say of itself, once.

An operator is a frozen dataclass, one in a file. All that holds of a whole plan (whether it has state, how many slots
it takes, what a restart may repeat) is folded from these answers in :mod:`ksqlpy.plan.plan`. An answer that is equal
for all operators of a class is a class attribute; one that depends on the operator is a property or a method. A class
that lacks an answer cannot be made: the only defaults are those of the families below, which hold for all their
members. How an operator is built lies in a file of the same name in ``ksqlpy/spark/operators/``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, ClassVar, Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation, Window

__all__ = [
    "BY_PARTITION",
    "Depends",
    "Lanes",
    "Operator",
    "Passive",
    "Replay",
    "Results",
    "Stateful",
    "Stateless",
    "TaskStep",
]


class Results(Enum):
    """How many rows may come out for one record."""

    ONE = "one"
    """At most one."""
    MANY = "many"
    """Several; ``__row``, the window, or both number them (docs/internals/exactly-once.md)."""


class Depends(Enum):
    """What a result depends on, beside its own row. It says what must be as before when a row is read again."""

    ROW = "row"
    """Nothing else. A result that is there already is left out; all others come at any time."""
    TABLES = "tables"
    """What other inputs held. A row without a result may see more than before; one with a result is done."""
    HISTORY = "history"
    """What came before it, or which results of the same row are there: a row must see what it saw before."""


class Lanes(Enum):
    """Which ordered paths (lanes) feed a group above the operator.

    Rows of one lane arrive in the order of their offsets. Recovery uses that order where HAVING left no result.
    """

    KEPT = "kept"
    """By the lane of the input; for a stream, the source partition."""
    OWN = "own"
    """By lanes of the operator's own, which its rows carry with them."""
    MIXED = "mixed"
    """By none: rows of several inputs meet."""


class Passive(Enum):
    """Whether CREATE OR REPLACE may add, drop and change an operator."""

    NEVER = "never"
    WITHOUT_STATE = "without state"
    """Where the state of the plan is not kept."""
    ALWAYS = "always"


@dataclass(frozen=True)
class Replay:
    """How the order of an operator's rows comes back after a restart (docs/internals/exactly-once.md).

    ``silent``: a row may change the state and have no result. ``regroups``: its groups are others than those of the
    rows that come in. ``partition_history``: its state is that of a whole shuffle partition, such as a stream time that
    all keys share; a result says what its partition had seen of each source partition. ``scattered``: rows of
    one group may come from several source partitions, and what these do meanwhile matters.
    """

    depends: Depends
    lanes: Lanes
    silent: bool = False
    regroups: bool = False
    partition_history: bool = False
    scattered: bool = False


BY_PARTITION = Replay(Depends.HISTORY, Lanes.OWN, partition_history=True)
"""Of steps of the JVM: rows come back in order by what results say that their shuffle partition had seen."""


@dataclass(frozen=True)
class Operator(ABC):
    """A node of a logical plan: immutable; equal nodes compare equal.

    ``family``: the class answers some of the questions for the operators that derive from it, and is none itself.
    """

    below: ClassVar[tuple[str, ...]]
    """The fields that hold the operators directly below, each one of them or a tuple, in the order in which a record's
    topic is numbered."""

    def __init_subclass__(cls, *, family: bool = False) -> None:
        super().__init_subclass__()
        declared = {n: str(a) for c in reversed(cls.__mro__) for n, a in vars(c).get("__annotations__", {}).items()}
        given = {n: getattr(cls, n) for n in (*Operator.__abstractmethods__, "below") if hasattr(cls, n)}
        fielded = [n for n in given if not declared.get(n, "ClassVar").startswith("ClassVar")]
        if fielded:
            raise TypeError(f"{cls.__name__}: {', '.join(fielded)} would be a field; annotate the answer as ClassVar")
        unknown = [n for n in given.get("below", ()) if n not in declared]
        if unknown:
            raise TypeError(f"{cls.__name__}: below names {', '.join(unknown)}, which is no field")
        missing = [n for n, answer in given.items() if getattr(answer, "__isabstractmethod__", False)]
        missing += [] if "below" in given else ["below"]
        if missing and not family:
            raise TypeError(f"{cls.__name__} does not answer {', '.join(sorted(missing))}: see {__name__}")

    @property
    @abstractmethod
    def title(self) -> str:
        """The operator in messages, with its article: ``an aggregation``."""

    # ---------------------------------------------------------------- what it is made of

    @property
    @abstractmethod
    def lookups(self) -> tuple[Operator, ...]:
        """Those inputs whose records only change the state: none of their rows comes out."""

    @property
    @abstractmethod
    def expressions(self) -> tuple[t.Expr, ...]:
        """All expressions that are computed; of aggregates and table functions their arguments."""

    @property
    @abstractmethod
    def needed(self) -> frozenset[str]:
        """Internal names of columns that it reads without an expression that names them."""

    # ---------------------------------------------------------------- state

    @property
    @abstractmethod
    def keys(self) -> tuple[t.Expr, ...]:
        """The expressions by whose values rows are brought together; none without state."""

    @property
    @abstractmethod
    def stages(self) -> int:
        """How many shuffles it needs; each takes a slot for each of its partitions."""

    @property
    @abstractmethod
    def stateful(self) -> bool:
        """Whether anything is remembered between rows."""

    @property
    @abstractmethod
    def window(self) -> Window | None:
        """The window into which it puts rows by their event time."""

    # ---------------------------------------------------------------- rows

    @property
    @abstractmethod
    def identity(self) -> tuple[t.Expr, ...] | None:
        """What tells the rows that come out apart, where they are those of a table; None for a stream."""

    @property
    @abstractmethod
    def results(self) -> Results:
        """How many rows may come out for one record, beside those that its inputs make of it."""

    @property
    @abstractmethod
    def replay(self) -> Replay:
        """How the order of its rows comes back after a restart."""

    @property
    @abstractmethod
    def equal(self) -> tuple[t.Expr, ...]:
        """Expressions that are equal, or null, in every row that comes out."""

    @abstractmethod
    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """Whether ``keys``, over the rows that come out, are the whole key of the records that came in."""

    # ---------------------------------------------------------------- what becomes of it

    @property
    @abstractmethod
    def needs_batches(self) -> str | None:
        """Why Spark cannot run it row by row, so that its query runs in micro-batches; None if it can."""

    @property
    @abstractmethod
    def passive(self) -> Passive:
        """Whether CREATE OR REPLACE may add, drop and change it."""

    @property
    @abstractmethod
    def upgradable(self) -> bool:
        """Whether a plan with it can be upgraded at all, if it changes."""

    @abstractmethod
    def explain(self) -> tuple[str, str]:
        """Name and details for EXPLAIN."""

    def upgrade(self, new: Self) -> str | None:
        """Why ``new`` cannot take over the state of this operator; None if it can. Inputs are compared elsewhere.

        Asked where both plans are upgradable. An operator that allows some changes answers for itself; to all others
        every change is one too many.
        """
        same = all(getattr(self, f.name) == getattr(new, f.name) for f in fields(self) if f.name not in self.below)
        return None if same else f"{self.title} would change, and it remembers rows"

    # ---------------------------------------------------------------- folded

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The operators directly below, in their order."""
        return tuple(n for name in self.below for n in self.held(name))

    def held(self, name: str) -> tuple[Any, ...]:
        """The operators of a field of :attr:`below`."""
        found = getattr(self, name)
        return found if isinstance(found, tuple) else (found,)

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The same operator over other inputs, as many and in the same order."""
        left, changes = list(inputs), {}
        for name in self.below:
            count = len(self.held(name))
            changes[name] = tuple(left[:count]) if isinstance(getattr(self, name), tuple) else left[0]
            del left[:count]
        return replace(self, **changes)

    def nodes(self) -> Iterator[Operator]:
        """This operator and all below, inputs first."""
        for node in self.inputs:
            yield from node.nodes()
        yield self

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The sources that are read below, in the order of the inputs. What reads one itself answers with it."""
        if not self.inputs:
            raise TypeError(f"{type(self).__name__} has no input and reads no source")
        return tuple(r for n in self.inputs for r in n.relations)

    def rebuilt(self, change: Callable[[Operator], Operator]) -> Operator:
        """A copy in which ``change`` replaced every operator, inputs first."""
        return change(self.with_inputs([n.rebuilt(change) for n in self.inputs]))


class Stateless(Operator, family=True):
    """Operators whose rows depend on nothing that came before."""

    lookups = ()
    needed = frozenset[str]()
    keys = ()
    stages = 0
    stateful = False
    window = None
    equal = ()
    needs_batches = None


class Stateful(Operator, family=True):
    """Operators that remember something between rows. A plan with one is upgraded only where the operator says so."""

    stateful = True
    needs_batches = None

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """False: its rows have keys of their own."""
        return False


class TaskStep(Stateful, family=True):
    """Operators that a step of the JVM runs, whose state is that of a whole shuffle partition.

    A record may bring about results of other keys. None can be upgraded.
    """

    lookups = ()
    stages = 1
    results = Results.MANY
    passive = Passive.NEVER
    upgradable = False

"""What every operator of a logical plan must say of itself, once.

An operator is a frozen dataclass, one in a file. All that holds of a whole plan (whether it has state, how many slots
it takes, what a restart may repeat) is folded from these answers in :mod:`ksqlpy.plan.plan`. There are no defaults: an
operator that lacks an answer cannot be created. How it is built lies in a file of the same name in
``ksqlpy/spark/operators/``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import Relation, Window

__all__ = ["Depends", "Lanes", "Operator", "Replay", "Results", "Stateless", "TaskStep"]


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
    """By what the rows of a group above are known to come in the order of their offsets.

    Behind HAVING a row may have no result. What the group's results had seen of each lane then tells its place.
    """

    KEPT = "kept"
    """By the lane of the input; for a stream, the source partition."""
    OWN = "own"
    """By lanes of the operator's own, which its rows carry with them."""
    MIXED = "mixed"
    """By none: rows of several inputs meet."""


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


@dataclass(frozen=True)
class Operator(ABC):
    """A node of a logical plan: immutable; equal nodes compare equal."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The operator in messages, with its article: ``an aggregation``."""

    # ---------------------------------------------------------------- what it is made of

    @property
    @abstractmethod
    def inputs(self) -> tuple[Operator, ...]:
        """The operators directly below, in the order in which a record's topic is numbered."""

    @property
    @abstractmethod
    def lookups(self) -> tuple[Operator, ...]:
        """Those inputs whose records only change the state: none of their rows comes out."""

    @abstractmethod
    def with_inputs(self, inputs: Sequence[Any]) -> Self:
        """The same operator over other inputs, as many and in the same order."""

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

    @abstractmethod
    def passive(self, *, stateful: bool) -> bool:
        """Whether CREATE OR REPLACE may add, drop and change it; ``stateful``: in a plan whose state is kept."""

    @abstractmethod
    def upgrade(self, new: Self) -> str | None:
        """Why ``new`` cannot take over the state of this operator; None if it can. Inputs are compared elsewhere.

        Source of the rules: ksqlDB, "Update a running persistent query".
        """

    @property
    @abstractmethod
    def upgradable(self) -> bool:
        """Whether a plan with it can be upgraded at all, if it changes."""

    @abstractmethod
    def explain(self) -> tuple[str, str]:
        """Name and details for EXPLAIN."""

    # ---------------------------------------------------------------- folded

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


@dataclass(frozen=True)
class Stateless(Operator):
    """An operator whose rows depend on nothing that came before. Its subclasses need not answer for a state."""

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """None: every record that is read may come out."""
        return ()

    @property
    def needed(self) -> frozenset[str]:
        """None: its expressions name what they need."""
        return frozenset()

    @property
    def keys(self) -> tuple[t.Expr, ...]:
        """None: rows stay where they are."""
        return ()

    @property
    def stages(self) -> int:
        """0: rows stay where they are."""
        return 0

    @property
    def stateful(self) -> bool:
        """False."""
        return False

    @property
    def window(self) -> Window | None:
        """None: windows need state."""
        return None

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """None."""
        return ()

    @property
    def needs_batches(self) -> str | None:
        """None: Spark runs every stateless step row by row."""
        return None


@dataclass(frozen=True)
class TaskStep(Operator):
    """An operator that a step of the JVM runs, whose state is that of a whole shuffle partition.

    It cannot be upgraded, and its rows come back in order by what its results say that the partition had seen.
    """

    @property
    def lookups(self) -> tuple[Operator, ...]:
        """None: a record of any input may bring results."""
        return ()

    @property
    def needed(self) -> frozenset[str]:
        """None: its expressions name what it needs."""
        return frozenset()

    @property
    def stages(self) -> int:
        """One: its rows are spread by its keys."""
        return 1

    @property
    def stateful(self) -> bool:
        """True."""
        return True

    @property
    def window(self) -> Window | None:
        """None, unless it puts rows into windows itself."""
        return None

    @property
    def results(self) -> Results:
        """Many: a record may bring about results of other keys."""
        return Results.MANY

    @property
    def replay(self) -> Replay:
        """By what the partition had seen."""
        return Replay(Depends.HISTORY, Lanes.OWN, partition_history=True)

    @property
    def equal(self) -> tuple[t.Expr, ...]:
        """None, unless it joins."""
        return ()

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """False: its rows have keys of their own."""
        return False

    @property
    def needs_batches(self) -> str | None:
        """None: steps take row after row."""
        return None

    def passive(self, *, stateful: bool) -> bool:
        """False: it has a state."""
        return False

    @property
    def upgradable(self) -> bool:
        """False."""
        return False

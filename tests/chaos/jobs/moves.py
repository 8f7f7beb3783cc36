"""GROUP BY of a table: couriers who move between cities, with a list that says who is in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.jobs.job import Feed, Job, amount, read
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["MOVES", "MOVES_HAVING", "changes"]

COURIERS = 40

Change = tuple[int | None, int | None]
"""What a record does to a city: the number of the row that goes out, and of the one that comes in."""


def city(number: int, cities: int) -> str:
    """The city in the row of that number, one of so many."""
    return f"city{amount(number) % cities:02}"


def changes(sent: Sequence[Sent], cities: int) -> Iterator[tuple[str, Change]]:
    """The changes of so many cities, in the order of the records."""
    last: dict[str, int] = {}
    for record in sent:
        old, new = last.get(record.key), record.number
        last[record.key] = new
        if old is None:
            yield city(new, cities), (None, new)
        elif city(old, cities) == city(new, cities):
            yield city(new, cities), (old, new)
        else:
            yield city(old, cities), (old, None)
            yield city(new, cities), (None, new)


@dataclass(frozen=True, slots=True)
class _List:
    city: str
    numbers: frozenset[int]
    place: str


def _read(result: Result) -> _List:
    if result.value is None:
        return _List(result.key_text(), frozenset(), result.place)
    columns = result.columns()
    numbers = [int(n) for n in columns["NUMBERS"]]
    if (columns["N"], columns["TOTAL"]) != (len(numbers), sum(numbers)) or len(set(numbers)) != len(numbers):
        raise ValueError("N, TOTAL and NUMBERS must agree")
    return _List(result.key_text(), frozenset(numbers), result.place)


def _job(name: str, about: str, suffix: str, cities: int, having: str) -> Job:
    topic, sink = f"chaos_couriers{suffix}", f"chaos_cities{suffix}"

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        _check(verdict, set(changes(sent[topic], cities)), read(verdict, results, _read))

    return Job(
        name,
        about,
        f"CREATE TABLE {topic} (courier STRING PRIMARY KEY, number BIGINT, city STRING)"
        f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
        f"CREATE TABLE {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT city, COUNT(*) AS n, SUM(number) AS total,"
        f" COLLECT_LIST(number) AS numbers FROM {topic} GROUP BY city{having};",
        sink,
        (
            Feed(
                topic,
                lambda random, number: f"courier{random.randrange(COURIERS):02}",
                lambda n: {"CITY": city(n, cities)},
                keyed=True,
            ),
        ),
        truth,
    )


def _check(verdict: Verdict, due: set[tuple[str, Change]], lists: Iterable[_List]) -> None:
    """Compares lists with the changes that are due, each of which is one step of its city's list."""
    verdict.due = len(due)
    now: dict[str, frozenset[int]] = {}
    before_that: set[tuple[str, frozenset[int]]] = set()
    done: set[tuple[str, Change]] = set()
    for found in lists:
        before = now.get(found.city, frozenset())
        now[found.city] = found.numbers
        out, into = sorted(before - found.numbers), sorted(found.numbers - before)
        step = (found.city, (out[0] if out else None, into[0] if into else None))
        said = f"{found.place}: {found.city} loses {out} and gets {into}"
        one = len(out) <= 1 and len(into) <= 1 and step in due
        if (found.city, found.numbers) in before_that and not (one and step not in done):
            verdict.note_twice(said)
            if not one and out + into:
                verdict.note_back(said)
        elif not one:
            verdict.note_wrong(f"{said} in one step")
        elif step in done:
            verdict.note_twice(said)
        before_that.add((found.city, found.numbers))
        if one:
            done.add(step)
    for name, (old, new) in sorted(due - done, key=str):
        verdict.note_missing(f"{name} never loses {old} and gets {new}")


MOVES = _job("moves", "GROUP BY of a table", "", 6, "")

# Cities that empty become tombstones. With HAVING, results tell what their group had seen.
MOVES_HAVING = _job("moves-having", "GROUP BY of a table with HAVING", "_having", 30, " HAVING COUNT(*) > 0")

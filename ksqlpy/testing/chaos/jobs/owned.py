"""Tables joined by a foreign key: houses with their agents, both changing, houses from one agent to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ksqlpy.testing.chaos.jobs.job import Feed, Job, amount, read
from ksqlpy.testing.chaos.records import Result, Sent
from ksqlpy.testing.chaos.verdict import Verdict

__all__ = ["OWNED", "agent"]

LEFT, RIGHT = "chaos_houses", "chaos_agents"
HOUSES = 200
AGENTS = 20


def agent(number: int) -> str:
    """The agent of the house in the record of that number."""
    return f"agent{amount(number) % AGENTS:02}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """The number of a house's row, and that of its agent's, 0 for none."""

    house: str
    numbers: tuple[int, int]
    place: str


def _read(result: Result) -> _Pair:
    columns = result.columns()
    return _Pair(result.key_text(), (int(columns["HOUSE_NUMBER"]), int(columns["AGENT_NUMBER"] or 0)), result.place)


def _truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
    """No pair comes twice, none after a later one of its house, and the last one is that of the last rows.

    Which pairs there are in between depends on how the topics are read, and a row that has changed by the time its
    result is there has none.
    """
    houses: dict[str, list[int]] = defaultdict(list)
    agents: dict[str, list[int]] = defaultdict(list)
    for record in sent[LEFT]:
        houses[record.key].append(record.number)
    for record in sent[RIGHT]:
        agents[record.key].append(record.number)
    last = {house: (numbers[-1], agents[agent(numbers[-1])]) for house, numbers in houses.items()}
    verdict.due = len(last)
    own = {house: set(numbers) for house, numbers in houses.items()}
    theirs = {name: {0, *numbers} for name, numbers in agents.items()}
    now: dict[str, tuple[int, int]] = {}
    known: set[tuple[str, tuple[int, int]]] = set()
    for pair in read(verdict, results, _read):
        said = f"{pair.place}: house {pair.house} is {pair.numbers} after {now.get(pair.house)}"
        of_house, of_agent = pair.numbers
        if of_house not in own.get(pair.house, ()) or of_agent not in theirs.get(agent(of_house), {0}):
            verdict.note_wrong(said)
            continue
        if (pair.house, pair.numbers) in known:
            verdict.note_twice(said)
        if pair.numbers < now.get(pair.house, (0, 0)):
            verdict.note_back(said)
        known.add((pair.house, pair.numbers))
        now[pair.house] = pair.numbers
    for house, (number, numbers) in sorted(last.items()):
        if now.get(house) != (number, numbers[-1] if numbers else 0):
            verdict.note_missing(f"house {house}: {now.get(house)} is not the last row {number} with the last agent's")


# A house has few records after each other, so that few of its results are overtaken.
OWNED = Job(
    "owned",
    "foreign-key LEFT JOIN of tables, both changing",
    f"CREATE TABLE chaos_houses (house STRING PRIMARY KEY, number BIGINT, agent STRING)"
    f" WITH (KAFKA_TOPIC='{LEFT}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
    f"CREATE TABLE chaos_agents (agent STRING PRIMARY KEY, number BIGINT)"
    f" WITH (KAFKA_TOPIC='{RIGHT}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
    "CREATE TABLE chaos_owned WITH (KAFKA_TOPIC='chaos_owned') AS"
    " SELECT h.house AS house, h.number AS house_number, a.number AS agent_number"
    " FROM chaos_houses h LEFT JOIN chaos_agents a ON h.agent = a.agent;",
    "chaos_owned",
    (
        Feed(LEFT, lambda random, number: f"house{number % HOUSES:03}", lambda n: {"AGENT": agent(n)}, keyed=True),
        Feed(RIGHT, lambda random, number: f"agent{random.randrange(AGENTS):02}", lambda n: {}, share=2, keyed=True),
    ),
    _truth,
)

"""Tables joined by a foreign key: houses with their agents, both changing, houses from one agent to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.jobs.job import Feed, Job, amount, read
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["OWNED", "OWNED_INNER", "agent"]

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


def _check(
    verdict: Verdict, left: Sequence[Sent], right: Sequence[Sent], results: Sequence[Result], *, outer: bool
) -> None:
    """No pair comes twice, none after a later one of its house, and the last one is that of the last rows.

    Which pairs there are in between depends on how the topics are read, and a row that has changed by the time its
    result is there has none.
    """
    houses: dict[str, list[int]] = defaultdict(list)
    agents: dict[str, list[int]] = defaultdict(list)
    for record in left:
        houses[record.key].append(record.number)
    for record in right:
        agents[record.key].append(record.number)
    last = {house: (numbers[-1], agents[agent(numbers[-1])]) for house, numbers in houses.items()}
    if not outer:
        last = {house: pair for house, pair in last.items() if pair[1]}
    verdict.due = len(last)
    nobody = {0} if outer else set[int]()
    own = {house: set(numbers) for house, numbers in houses.items()}
    theirs = {name: nobody | set(numbers) for name, numbers in agents.items()}
    now: dict[str, tuple[int, int]] = {}
    known: set[tuple[str, tuple[int, int]]] = set()
    for pair in read(verdict, results, _read):
        said = f"{pair.place}: house {pair.house} is {pair.numbers} after {now.get(pair.house)}"
        of_house, of_agent = pair.numbers
        if of_house not in own.get(pair.house, ()) or of_agent not in theirs.get(agent(of_house), nobody):
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


def _job(name: str, kind: str, houses: str, agents: str) -> Job:
    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        outer = kind == "LEFT"
        if not outer:  # a house has no result any more when it comes to an agent without a row
            known = {r.key.encode() for r in sent[houses]}
            results = [r for r in results if r.value is not None or r.key not in known]
        _check(verdict, sent[houses], sent[agents], results, outer=outer)

    sink = f"{houses}_owned"
    # A house has few records after each other, so that few of its results are overtaken.
    return Job(
        name,
        f"foreign-key {kind} JOIN of tables, both changing",
        f"CREATE TABLE {houses} (house STRING PRIMARY KEY, number BIGINT, agent STRING)"
        f" WITH (KAFKA_TOPIC='{houses}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
        f"CREATE TABLE {agents} (agent STRING PRIMARY KEY, number BIGINT)"
        f" WITH (KAFKA_TOPIC='{agents}', VALUE_FORMAT='JSON', PARTITIONS={{p}});",
        f"CREATE TABLE {sink} WITH (KAFKA_TOPIC='{sink}') AS"
        " SELECT h.house AS house, h.number AS house_number, a.number AS agent_number"
        f" FROM {houses} h {kind} JOIN {agents} a ON h.agent = a.agent;",
        sink,
        (
            Feed(
                houses, lambda random, number: f"house{number % HOUSES:03}", lambda n: {"AGENT": agent(n)}, keyed=True
            ),
            Feed(
                agents, lambda random, number: f"agent{random.randrange(AGENTS):02}", lambda n: {}, share=2, keyed=True
            ),
        ),
        truth,
    )


OWNED = _job("owned", "LEFT", "chaos_houses", "chaos_agents")
OWNED_INNER = _job("owned-inner", "INNER", "chaos_flats", "chaos_brokers")

"""Readings for queries: in order and late, sent twice, and such that none can take; and what one pass over all makes of them."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tests.services.executor.runtime.conftest import Tasks, produce

QUEUES = 3
SIZE, SLIDE, LATENESS, WITHIN = 10_000, 5_000, 2_000, 30_000
NAMES = {"a": "Aarau", "b": "Bern", "c": "Chur"}
_BEGIN = 1_700_000_000_000
_DAY = 86_400_000
_IDS = 50

Row = tuple[object, ...]


class Feed:
    """Sends readings to the queues of a topic. An id is of one queue alone, and comes again in it."""

    def __init__(self, tasks: Tasks, chance: random.Random) -> None:
        self._tasks = tasks
        self._chance = chance
        self._clocks = [_BEGIN] * QUEUES
        self._sent: list[list[str]] = [[] for _ in range(QUEUES)]

    def send(self, count: int) -> None:
        """So many to each queue."""
        for queue in range(QUEUES):
            produce(self._tasks, [self._body(queue) for _ in range(count)], queue)

    def end(self) -> None:
        """A reading in each queue that ends all windows before it."""
        last = max(self._clocks) + _DAY
        for queue in range(QUEUES):
            produce(self._tasks, [_reading(f"{queue}-end", "a", last, "1")], queue)

    def _body(self, queue: int) -> str:
        kind, sent = self._chance.random(), self._sent[queue]
        if kind < 0.02:
            return self._chance.choice(["{no JSON", "7"])
        if kind < 0.03:
            return json.dumps({"id": f"{queue}-timeless", "station": "a", "amount": "1"})
        if kind < 0.04:
            return _reading(f"{queue}-timeless", "a", "soon", "1")
        if kind < 0.14 and sent:
            return self._chance.choice(sent[-200:])
        self._clocks[queue] += self._chance.randrange(300)
        time = self._clocks[queue] - self._chance.randrange(LATENESS) - (100_000 if kind > 0.97 else 0)
        number = self._chance.randrange(-50, 100)
        amount = "x" if kind > 0.94 else number if kind > 0.9 else str(number)
        sent.append(_reading(f"{queue}-{self._chance.randrange(_IDS)}", self._chance.choice("abcd"), time, amount))
        return sent[-1]


def _reading(name: str, station: str, time: object, amount: object) -> str:
    return json.dumps({"id": name, "station": station, "ms": time, "amount": amount})


@dataclass
class Expected:
    """What is to be written, how often, and the (queue, offset) of the messages that are to be dead letters."""

    rows: Counter[Row] = field(default_factory=Counter)
    bad: set[tuple[int, int]] = field(default_factory=set)


@dataclass(frozen=True)
class Query:
    """A query and what it is to make.

    Attributes:
        options: Of the sink, without those of files.
        columns: Of its result.
        oracle: Of all messages (queue, offset, body), those of a queue in their order, what is expected.
    """

    options: Mapping[str, str]
    columns: tuple[str, ...]
    oracle: Callable[[Iterable[tuple[int, int, str]]], Expected]


def _read(body: str) -> dict[str, object] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _time(body: str) -> tuple[dict[str, object], int] | None:
    record = _read(body)
    if record is None or not isinstance(time := record.get("ms"), int):
        return None
    return record, time


def _number(amount: object) -> int | None:
    return None if amount == "x" else int(str(amount))


def _filtered(messages: Iterable[tuple[int, int, str]]) -> Expected:
    found = Expected()
    for queue, offset, body in messages:
        record = _read(body)
        if record is None or (amount := _number(record["amount"])) is None:
            found.bad.add((queue, offset))
        elif amount > 0 and record["station"] in NAMES:
            found.rows[record["id"], NAMES[str(record["station"])], amount] += 1
    return found


def _first(messages: Iterable[tuple[int, int, str]]) -> Expected:
    found = Expected()
    newest: dict[int, int] = {}
    kept: dict[object, int] = {}
    for queue, offset, body in messages:
        if (timed := _time(body)) is None:
            found.bad.add((queue, offset))
            continue
        record, time = timed
        name = record["id"]
        before = kept.get(name)
        # Known for as long as the queue is not so much further.
        is_known = before is not None and (queue not in newest or newest[queue] < before + WITHIN)
        newest[queue] = max(time, newest.get(queue, time))
        if before is None or not is_known or abs(time - before) >= WITHIN:
            found.rows[name, time, str(record["amount"])] += 1
            kept[name] = time if before is None else max(time, before)
    return found


def _counted(messages: Iterable[tuple[int, int, str]]) -> Expected:
    found = Expected()
    newest: dict[int, int] = {}
    windows: dict[tuple[int, object], list[int]] = {}
    for queue, offset, body in messages:
        if (timed := _time(body)) is None:
            found.bad.add((queue, offset))
            continue
        record, time = timed
        first = time // SLIDE * SLIDE
        of = [begin for begin in (first - SLIDE, first) if queue not in newest or begin + SIZE > newest[queue] - LATENESS]
        for begin in of:
            windows.setdefault((begin, record["station"]), []).append(_number(record["amount"]) or 0)
        if not of:
            found.bad.add((queue, offset))
        newest[queue] = max(time, newest.get(queue, time))
    over = min(newest.values()) - LATENESS
    for (begin, station), amounts in windows.items():
        if begin + SIZE <= over:
            found.rows[begin, station, len(amounts), sum(amounts)] += 1
    return found


FILTER = Query(
    {"query": "SELECT id, name, amount::INT AS amount FROM records JOIN names USING (station) WHERE amount::INT > 0"},
    ("id", "name", "amount"),
    _filtered,
)
DUPLICATES = Query(
    {
        # What has no common type in a batch is text in it.
        "query": "SELECT id, ms::BIGINT AS ms, amount::VARCHAR AS amount FROM records",
        "query.deduplicate.by": "id",
        "query.deduplicate.within": "30s",
        "query.time": "ms",
    },
    ("id", "ms", "amount"),
    _first,
)
WINDOWS = Query(
    {
        "query": "SELECT epoch_ms(window_start) AS begin, station, count(*) AS n, "
        "coalesce(sum(TRY_CAST(amount AS INT)), 0)::BIGINT AS total FROM records GROUP BY ALL ORDER BY station",
        "query.time": "ms",
        "query.window": "10s",
        "query.window.slide": "5s",
        "query.lateness": "2s",
        # What is left out of windows is to depend on nothing that the kills change.
        "query.idle": "10000h",
    },
    ("begin", "station", "n", "total"),
    _counted,
)

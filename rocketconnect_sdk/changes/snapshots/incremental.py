"""Snapshots of single tables that people ask for while the log is read: what was asked for, and how far it is. Pure.

All of it is in positions, each moved by a batch without records, so that a task that is killed goes on with what was stored:

- "incremental TABLE": (run,) it is asked for; (run, 0 or 1, ...) behind a chunk, as the connector has it; (run, 2) done or stopped.
- "condition TABLE": (run, length, bytes...), where only some rows are wanted: a condition in SQL, or keys in JSON. It is given
  before the run is asked for.
- "incremental": (number, 1) paused, (number, 0) not.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from rocketconnect_sdk.options import Kind, Option, parse
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.source import Signal

INCREMENTAL_OPTIONS = (
    Option(
        "incremental.snapshot.chunk.size",
        "How many rows of a table an incremental snapshot reads at a time; fewer if they have more bytes than batch.bytes.",
        Kind.INT,
        "20000",
        minimum=1,
        maximum=1_000_000,
    ),
    Option(
        "incremental.snapshot.max.rate.rows",
        "How many rows incremental snapshots read per second; 0: as many as there is room for.",
        Kind.INT,
        "0",
        minimum=0,
    ),
)
_EXECUTE, _PAUSE, _STOP = "execute-snapshot", "pause-snapshot", "stop-snapshot"
_TABLES = "Their names, separated by commas, as filters see them."
SIGNALS = (
    Signal(
        _EXECUTE,
        "Reads tables again, in chunks, while the log is read on.",
        (
            Option("tables", _TABLES, Kind.LIST, required=True),
            Option("condition", "Which rows, as a condition in SQL; empty: all.", default=""),
            Option(
                "keys",
                "Which rows, by their primary keys in JSON, such as [[7], [8]], in the place of a condition. Those that are not "
                "there are sent as deleted.",
                default="",
            ),
        ),
    ),
    Signal(_PAUSE, "Reads no more chunks until resume-snapshot; the log is read on."),
    Signal("resume-snapshot", "Reads chunks again."),
    Signal(_STOP, "Gives up snapshots that are asked for.", (Option("tables", f"{_TABLES} Empty: all.", Kind.LIST, ""),)),
)
Ask = Callable[[Sequence[str], str], list[SourceBatch]]
"""Asks for snapshots of tables, of their rows with a condition, or with keys: see keys_of."""
Key = tuple[int | str, ...]
"""The values of a primary key's columns."""
LONGEST_CONDITION = 256
"""In bytes of UTF-8: it is in a position."""
_ALL = "incremental"
_PREFIX = f"{_ALL} "
DONE = 2
"""Behind the number of a run: nothing more is to be read."""
_KEYS = "[["
"""So JSON of keys begins, and no condition."""
_SHOWN = 200
_GROUP = 7
"""Bytes in an integer."""


def keys_of(wanted: str) -> Sequence[Key]:
    """The keys of the rows that are wanted; none: a condition says which, or all are.

    Raises:
        ValueError: it begins as keys do, and is none.
    """
    if not wanted.startswith(_KEYS):
        return ()
    try:
        found = json.loads(wanted)
    except RecursionError:
        msg = f"{wanted[:_SHOWN]} is nested too deep to be a list of keys"
        raise ValueError(msg) from None
    if not all(isinstance(key, list) and key and all(type(value) in (int, str) for value in key) for key in found):
        msg = f"{wanted[:_SHOWN]} is no list of keys, each a list of whole numbers and texts: [[7], [8]]"
        raise ValueError(msg)
    return [tuple(key) for key in found]


def partition_of(table: str) -> str:
    """The source partition of the rows that incremental snapshots of a table read."""
    return f"{_PREFIX}{table}"


class Requests:
    """What people have asked for. Its methods return the batches that make it durable, to be given in their order.

    Args:
        positions: Of before.

    Attributes:
        paused: No chunks are to be read.
    """

    def __init__(self, positions: Mapping[str, Offset]) -> None:
        prefix = len(_PREFIX)
        self._places = {name[prefix:]: offset for name, offset in sorted(positions.items()) if name.startswith(_PREFIX)}
        self._conditions = {table: positions.get(_condition_of(table), ()) for table in self._places}
        self._number, paused = positions.get(_ALL, (0, 0))
        self.paused = bool(paused)

    @property
    def open(self) -> list[str]:
        """The tables that are to be read, in their order."""
        return [table for table, place in self._places.items() if DONE not in place[1:2]]

    def place(self, table: str) -> Offset:
        """Behind which its rows are to be read: what `ask` or `read` gave last; empty: nobody ever asked."""
        return self._places.get(table, ())

    def condition(self, table: str) -> str:
        """Which of its rows are wanted; empty: all."""
        run, *rest = self._conditions.get(table) or (0,)
        if run != self.place(table)[0] or not rest:
            return ""
        size, *groups = rest
        held = [size - at for at in range(0, size, _GROUP)]
        return b"".join(g.to_bytes(min(_GROUP, left), "big") for g, left in zip(groups, held, strict=True)).decode()

    def keys(self, table: str) -> Sequence[Key]:
        """The keys of the rows that are wanted; see keys_of."""
        return keys_of(self.condition(table))

    @property
    def told(self) -> str:
        """What is asked for, for who has just asked for something."""
        paused, wanted = "paused" if self.paused else "not paused", ", ".join(self.open) or "none"
        return (
            f"{paused}; tables that are to be read: {wanted}. It outlives the task as soon as its log says that it is stored; "
            "repeat it if the task ends before"
        )

    def obey(self, signal: str, given: Mapping[str, str], ask: Ask) -> list[SourceBatch]:
        """Does what one of SIGNALS says, with its arguments, which are right; `ask` looks at the tables and calls the other `ask`.

        Raises:
            ValueError: there is no such snapshot to be stopped; or keys are none.
        """
        arguments = parse(next(each for each in SIGNALS if each.name == signal).arguments, given)
        if signal == _EXECUTE:
            if arguments["keys"] and (arguments["condition"] or not keys_of(arguments["keys"])):
                msg = "keys are JSON such as [[7], [8]], and in the place of a condition: give one of the two"
                raise ValueError(msg)
            return ask(arguments["tables"], arguments["condition"] or arguments["keys"])
        if signal == _STOP:
            return self._stop(arguments["tables"])
        return self.pause(paused=signal == _PAUSE)

    def _stop(self, tables: Sequence[str]) -> list[SourceBatch]:
        stopped = [table for table in self.open if not tables or table in tables]
        if unknown := sorted(set(tables).difference(stopped)):
            msg = f"no snapshot is asked for of {', '.join(unknown)}; there are {', '.join(self.open) or 'none'}"
            raise ValueError(msg)
        return [self.done(table) for table in stopped]

    def ask(self, table: str, condition: str = "") -> list[SourceBatch]:
        """A table is to be read, from its beginning.

        Raises:
            ValueError: that is asked for already, or the condition is too long.
        """
        raw = condition.encode()
        if len(raw) > LONGEST_CONDITION:
            msg = f"the condition, or the keys, have {len(raw)} bytes: there is room for {LONGEST_CONDITION}; give fewer"
            raise ValueError(msg)
        if table in self.open:
            msg = f"a snapshot of {table} is asked for already: wait until it is done, or stop it (stop-snapshot tables={table})"
            raise ValueError(msg)
        return self._begin(table, raw)

    def again(self, table: str) -> list[SourceBatch]:
        """A table that is being read is to be read from its beginning: the rest of it could not be told."""
        return self._begin(table, self.condition(table).encode())

    def _begin(self, table: str, condition: bytes) -> list[SourceBatch]:
        run = (self.place(table) or (0,))[0] + 1
        made = []
        if condition:
            groups = (int.from_bytes(condition[at : at + _GROUP], "big") for at in range(0, len(condition), _GROUP))
            self._conditions[table] = (run, len(condition), *groups)
            made.append(_moved(_condition_of(table), self._conditions[table]))
        return [*made, self._move(table, (run,))]

    def read(self, table: str, end: Offset) -> None:
        """A chunk that ends there is given."""
        self._places[table] = end

    def done(self, table: str) -> SourceBatch:
        """There is nothing more to read of a table that is being read, or it is not wanted any more."""
        return self._move(table, (self.place(table)[0], DONE))

    def pause(self, *, paused: bool) -> list[SourceBatch]:
        """Chunks are to be read no more, or again."""
        if self.paused == paused:
            return []
        self.paused, self._number = paused, self._number + 1
        return [_moved(_ALL, (self._number, int(paused)))]

    def _move(self, table: str, offset: Offset) -> SourceBatch:
        self._places[table] = offset
        return _moved(partition_of(table), offset)


def _condition_of(table: str) -> str:
    return f"condition {table}"


def _moved(partition: str, end: Offset) -> SourceBatch:
    return SourceBatch(partition, [], [], end=end)

"""The tables of the load: their columns, random rows, and each value as the other database is to have it. Pure.

The mapping is the one of docs/mysql.md, docs/postgres.md and docs/jdbc-sink.md, written down a second time: nothing of the product
is used.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from random import Random
from typing import Any

Value = Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        kind: Its type in the database that is copied, with what belongs to it.
        make: A random value, as SQL takes it.
        select: How that database gives it exactly; {} is the name.
        told: What it gives, as the comparison has it.
        found: The same of what the copy gives.
        found_select: How the copy gives it exactly.
    """

    kind: str
    make: Callable[[Random], Value]
    select: str = "{}"
    told: Callable[[Value], Value] = lambda value: value
    found: Callable[[Value], Value] = lambda value: value
    found_select: str = "{}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the load.

    Attributes:
        name: Its name.
        key: The columns of its key.
        columns: Those behind it, by name.
        own: Those that the database itself fills, by name.
    """

    name: str
    key: Mapping[str, Column]
    columns: Mapping[str, Column]
    own: Mapping[str, Column] = field(default_factory=dict)

    @property
    def definition(self) -> str:
        """The statement that makes it."""
        key = [f"{name} {column.kind} NOT NULL" for name, column in self.key.items()]
        rest = [f"{name} {column.kind}" for name, column in {**self.columns, **self.own}.items()]
        return f"CREATE TABLE {self.name} ({', '.join([*key, *rest])}, PRIMARY KEY ({', '.join(self.key)}))"

    def row(self, chance: Random, key: tuple[Value, ...]) -> list[Value]:
        """A random row of it."""
        return [*key, *(None if chance.random() < 0.1 else column.make(chance) for column in self.columns.values())]


@dataclass(frozen=True, slots=True)
class Tables:
    """All of a load.

    Attributes:
        orders: Most of the load goes here.
        everything: Has all types, each of which may be null, and `small` in any case.
        words: Its key is a text.
        drafts: Is truncated.
        odd: Gets values that the other database has no counterpart of.
        later: Is made in the middle.
    """

    orders: Table
    everything: Table
    words: Table
    drafts: Table
    odd: Table
    later: Table

    @property
    def first(self) -> tuple[Table, ...]:
        """Those that are there before the load."""
        return (self.orders, self.everything, self.words, self.drafts, self.odd)

    def __iter__(self) -> Iterator[Table]:
        """All."""
        return iter((*self.first, self.later))

    @property
    def equal(self) -> tuple[Table, ...]:
        """Those that are to be equal in the end."""
        return (self.orders, self.everything, self.words, self.drafts, self.later)


def of_types(
    columns: Mapping[str, Column], number: Column, small: Column, word: Column, own: Mapping[str, Column] | None = None
) -> Tables:
    """The tables, of a database's own types.

    Args:
        columns: For `everything`; the others have some of them, which are the same in all databases.
        number: Whole, of 64 bits.
        small: Whole, of 16 bits.
        word: A text of up to 40 characters.
        own: In `orders`, `everything` and `words`: what the database itself fills.
    """
    filled = own or {}

    def some(*names: str) -> dict[str, Column]:
        return {name: columns[name] for name in names}

    return Tables(
        Table("orders", {"id": number}, some("name", "price", "moment", "state", "int_u", "real_8", "small"), filled),
        Table("everything", {"id": number, "part": small}, columns, filled),
        Table("words", {"word": word}, some("big", "long_text", "day"), filled),
        Table("drafts", {"id": number}, some("name", "data")),
        Table("odd", {"id": number}, some("day", "name", "real_8")),
        Table("later", {"id": number}, some("name", "data")),
    )


def compared(value: Value, told: Callable[[Value], Value]) -> Value:
    """A value as it is compared; null is null."""
    if value is None:
        return None
    made = told(value)
    return made.isoformat() if isinstance(made, time) else made


def whole(bits: int, *, signed: bool = True) -> Callable[[Random], int]:
    """Whole numbers, often at the ends."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda chance: chance.choice((low, high, 0, chance.randint(low, high)))


def text(chance: Random, most: int) -> str:
    """Text of all kinds of characters."""
    return "".join(chance.choices("aZ é\"'\\\n\t,ü€😀", k=chance.randrange(most)))


def moment(chance: Random, digits: int) -> str:
    """A time as a clock shows it."""
    shown = datetime(1971, 1, 1) + timedelta(seconds=chance.randrange(2_000_000_000))  # noqa: DTZ001 - as a clock shows it
    return f"{shown:%Y-%m-%d %H:%M:%S}.{chance.randrange(10**digits):0{digits}}"


def single(chance: Random) -> float:
    """A float32."""
    made: float = struct.unpack("!f", struct.pack("!f", chance.uniform(-1e30, 1e30)))[0]
    return made


def facts(chance: Random) -> str:
    """JSON."""
    return json.dumps({"n": chance.random(), "t": text(chance, 9), "l": [1, None]})


def packed(value: float) -> bytes:
    """Of a float32."""
    return struct.pack("!f", value)


def of_day(value: Any) -> Any:
    """A time of the day."""
    return (datetime(1970, 1, 1) + value).time() if isinstance(value, timedelta) else value  # noqa: DTZ001 - no zone


def parsed(value: Any) -> Any:
    """Of JSON."""
    return json.loads(value) if isinstance(value, (str, bytes)) else value

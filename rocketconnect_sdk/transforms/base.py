"""What a transform is: it changes records on their way, one by one or many at once; and a predicate, which chooses them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import ClassVar

from rocketconnect_sdk.columns.compact import picked
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.schema import Schema

BEYOND_ONE_RECORD = (SystemAway, RetriableError, PermanentError)
"""What a transform raises that is not about the record."""


@dataclass(slots=True)
class Record:
    """One record, as a transform sees it. A transform may change it and return the same one.

    Attributes:
        value: The value; None: a tombstone.
        schema: Of the value, where it is known.
        key: The key; None: it has none.
        key_schema: Of the key, where it is known.
        topic: Of a source: the topic it goes to. Of a sink: the topic it comes from, by which sinks name tables and files.
        timestamp_ms: The time of the event; None: not known.
        headers: Its headers; never changed in place.
    """

    value: object
    schema: Schema | None = None
    key: object = None
    key_schema: Schema | None = None
    topic: str = ""
    timestamp_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)


@dataclass(slots=True)
class Records:
    """Records in their order, as columns of equal length, with one schema and one key schema. Never changed in place.

    Attributes:
        values: The values: a list, or a Column (Arrow), or Texts.
        indexes: Of each the number it had when it came; increasing.
        topic: Of all, where `topics` is None.
        schema: Of all values.
        key_schema: Of all keys.
        keys: None: no record has one.
        timestamps_ms: None: not known of any.
        headers: None: no record has any.
        topics: Of each; None: all have the same.
    """

    values: Sequence[object]
    indexes: Sequence[int]
    topic: str
    schema: Schema | None = None
    key_schema: Schema | None = None
    keys: Sequence[object] | None = None
    timestamps_ms: Sequence[int | None] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    topics: Sequence[str] | None = None

    def __len__(self) -> int:
        """How many."""
        return len(self.values)

    def take(self, which: Sequence[int]) -> "Records":
        """Some of them, by their places here, in this order."""
        return replace(
            self,
            values=picked(self.values, which),
            indexes=picked(self.indexes, which),
            keys=None if self.keys is None else picked(self.keys, which),
            timestamps_ms=None if self.timestamps_ms is None else picked(self.timestamps_ms, which),
            headers=None if self.headers is None else picked(self.headers, which),
            topics=None if self.topics is None else picked(self.topics, which),
        )

    def each(self) -> list[Record]:
        """They one by one."""
        count = len(self)
        nothing = [None] * count
        return [
            Record(value, self.schema, key, self.key_schema, topic, time, headers)
            for value, key, time, headers, topic in zip(
                self.values,
                nothing if self.keys is None else self.keys,
                nothing if self.timestamps_ms is None else self.timestamps_ms,
                [NO_HEADERS] * count if self.headers is None else self.headers,
                [self.topic] * count if self.topics is None else self.topics,
                strict=True,
            )
        ]


def in_order(records: Iterable[tuple[int, Record]]) -> list[Records]:
    """Records with their indexes, sorted by them, as few Records as their schemas allow.

    A tombstone, and a record without a key, goes with what is around it, whatever its own schema is.
    """
    pairs = sorted(records, key=lambda pair: pair[0])
    kinds = _kinds([record for _, record in pairs])
    found = []
    start = 0
    for (schema, key_schema), group in groupby(kinds):
        stop = start + sum(1 for _ in group)
        found.append(_columns(pairs[start:stop], schema, key_schema))
        start = stop
    return found


def one_by_one(runs: Iterable[Records]) -> Iterator[tuple[int, Record]]:
    """All records of runs, each with its index."""
    for run in runs:
        yield from zip(run.indexes, run.each(), strict=True)


def _kinds(records: Sequence[Record]) -> list[tuple[Schema | None, Schema | None]]:
    values = _filled([None if record.value is None else (record.schema,) for record in records])
    keys = _filled([None if record.key is None else (record.key_schema,) for record in records])
    return list(zip(values, keys, strict=True))


def _filled(schemas: Sequence[tuple[Schema | None] | None]) -> list[Schema | None]:
    """With that of the one before it, else of the first one there is, in the place of each None."""
    held = next((each for each in schemas if each is not None), (None,))
    filled = []
    for each in schemas:
        if each is not None and each[0] is not held[0] and each != held:
            held = each
        # The same object for equal ones: to be compared again costs nothing.
        filled.append(held[0])
    return filled


def _columns(pairs: Sequence[tuple[int, Record]], schema: Schema | None, key_schema: Schema | None) -> Records:
    records = [record for _, record in pairs]
    topics = [record.topic for record in records]
    same = len(set(topics)) == 1
    keys = [record.key for record in records]
    times = [record.timestamp_ms for record in records]
    headers = [record.headers for record in records]
    return Records(
        [record.value for record in records],
        [index for index, _ in pairs],
        topics[0],
        schema,
        key_schema,
        keys if any(key is not None for key in keys) else None,
        times if any(time is not None for time in times) else None,
        headers if any(headers) else None,
        None if same else topics,
    )


class Configured(ABC):
    """What transforms and predicates have in common: a name and options.

    Class attributes:
        name: What users write as its type.
        aliases: The class names that others have for it.
        options: Its options.
    """

    name: ClassVar[str]
    aliases: ClassVar[Sequence[str]] = ()
    options: ClassVar[Sequence[Option]] = ()

    def __init__(self, config: Config) -> None:
        self.config = config

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """What is wrong with options that are right each by itself."""
        del config
        return ()


class Transform(Configured):
    """Changes records. One instance serves one step of one task, in one thread.

    It must give the same for the same record each time: what is sent again after a crash is found by where it goes.

    Class attributes:
        name: What users write into transforms.NAME.type.
        aliases: The class names that RocketMQ Connect and Kafka Connect have for it. "$Key" or "$Value" behind one says `on`.
        options: Its options, given with the prefix "transforms.NAME.".
    """

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The record as it goes on; None: it is dropped.

        Raises:
            RecordError: this one can't be changed so: the error policy decides. The same holds for whatever else is raised, but for
            SystemAway, RetriableError: it is tried again later, and waited for.
            PermanentError: the task fails.
        """

    def apply_many(self, records: Records) -> Records | None:
        """Apply for all of them at once: the same as `apply` for each. None: apply it to each.

        Raises:
            RecordError: at least one can't be changed so; the caller then finds it by `apply`. The others as in `apply`.
        """
        del records
        return None

    def apply_each(self, records: Sequence[Record]) -> Sequence[Record | Exception | None]:
        """Apply for each of them: of each what `apply` gives, or what it raises because of this record.

        Raises:
            SystemAway, RetriableError, PermanentError: as `apply`, because of any of them.
        """
        done: list[Record | Exception | None] = []
        for record in records:
            try:
                done.append(self.apply(record))
            except BEYOND_ONE_RECORD:
                raise
            except Exception as error:  # whatever a foreign transform does costs its record alone
                done.append(error)
        return done

    def close(self) -> None:
        """Ends what it has begun. Called once, also after an error."""


class Predicate(Configured):
    """Chooses the records that a transform is for. One instance serves one task, in one thread.

    Class attributes:
        name: What users write into predicates.NAME.type.
        aliases: The class names that Kafka Connect has for it.
        options: Its options, given with the prefix "predicates.NAME.".
    """

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether it is chosen. Raises what Transform.apply does."""

    def test_many(self, records: Records) -> Sequence[bool] | bool | None:
        """Of each, or of all alike. None: test each. Raises what Transform.apply_many does."""
        del records
        return None


LOOKED_AT = Option("on", "What is looked at: the value of a record, or its key.", default="value", choices=("value", "key"))
ON = Option("on", "What is changed: the value of a record, or its key.", default="value", choices=("value", "key"))


def given(record: Record, config: Config) -> tuple[object, Schema | None]:
    """What a transform with the option `on` changes, and its schema."""
    return (record.key, record.key_schema) if config["on"] == "key" else (record.value, record.schema)


def put(record: Record, config: Config, value: object, schema: Schema | None) -> Record:
    """The record with what has become of it."""
    if config["on"] == "key":
        record.key, record.key_schema = value, schema
    else:
        record.value, record.schema = value, schema
    return record


def given_many(records: Records, config: Config) -> tuple[Sequence[object] | None, Schema | None]:
    """What a transform with the option `on` changes of all of them, and its schema. None: no record has a key."""
    return (records.keys, records.key_schema) if config["on"] == "key" else (records.values, records.schema)


def put_many(records: Records, config: Config, values: Sequence[object], schema: Schema | None) -> Records:
    """The records with what has become of them."""
    if config["on"] == "key":
        return replace(records, keys=values, key_schema=schema)
    return replace(records, values=values, schema=schema)

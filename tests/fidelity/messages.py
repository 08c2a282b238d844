"""The messages of a connector of ours, as those of Debezium's engine are: JSON with schemas, under the names that Kafka has."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.testing import at
from services.executor.runtime.errors.failure import Failure
from tests.servers.debezium import Event

SECONDS = 120.0
"""Only a hang takes longer."""


class Reading:
    """Polls a task, and stores all positions at once.

    Args:
        task: One that is open and has not begun.

    Attributes:
        positions: What is stored.
        batches: What came.
    """

    def __init__(self, task: SourceTask) -> None:
        self.positions: dict[str, Offset] = {}
        self.batches: list[SourceBatch] = []
        self._task = task
        task.start({})

    def until(self, condition: Callable[["Reading"], object]) -> None:
        """Polls until it is so, and there is nothing more."""
        deadline = time.monotonic() + SECONDS
        while self._poll() or not condition(self):
            assert time.monotonic() < deadline, f"it did not come; {[batch.partition for batch in self.batches]}"

    def came(self, table: str) -> bool:
        """Whether there was something of a table."""
        return any(_table(batch) == table for batch in self.batches)

    def _poll(self) -> int:
        batch = self._task.poll()
        if batch is None:
            time.sleep(self._task.idle_seconds)
            return 0
        assert isinstance(batch, SourceBatch)
        position = {batch.partition: batch.end or batch.offsets[-1]}
        self.positions.update(position)
        self._task.committed(at(position))
        if len(batch):
            self.batches.append(batch)
        return len(batch)


class Messages(NamedTuple):
    """What a connector sends.

    Attributes:
        events: The messages; their destination is the name of the table.
        bad: What is no message, since a value has no counterpart: the table, and what a dead letter says is wrong.
    """

    events: Sequence[Event]
    bad: Sequence[tuple[str, str]]


class Both(NamedTuple):
    """What both send.

    Attributes:
        theirs: Debezium's messages about changes of rows.
        ours: Ours.
    """

    theirs: Sequence[Event]
    ours: Messages

    def fields(self, *path: str) -> tuple[set[str], set[str]]:
        """The names of the fields of all envelopes, or of a part of them, that only theirs have, and only ours."""
        of_theirs, of_ours = _fields(self.theirs, *path), _fields(self.ours.events, *path)
        return of_theirs - of_ours, of_ours - of_theirs

    def forms(self, table: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The types of a table's columns by name, in the words of Kafka's schemas: "int32", "bytes Decimal(scale=2)?" with null."""
        of_theirs, of_ours = (
            {field["field"]: _form(field) for field in _field(of_table(events, table)[0], "after")["fields"]}
            for events in (self.theirs, self.ours.events)
        )
        return of_theirs, of_ours


def messages(batches: Sequence[SourceBatch]) -> Messages:
    """The records of batches as messages."""
    key_json, value_json = (converter("json", {"names": "kafka"}, is_key=is_key) for is_key in (True, False))
    events: list[Event] = []
    bad: list[tuple[str, str]] = []
    for batch in batches:
        keys = [None] * len(batch) if batch.keys is None else batch.keys
        for key, value in zip(keys, batch.values, strict=True):
            try:
                events.append(
                    {
                        "destination": _table(batch),
                        "key": None if key is None else json.loads(key_json.encode(key, batch.key_schema)),
                        "value": None if value is None else json.loads(value_json.encode(value, batch.schema)),
                    }
                )
            except RecordError as error:
                bad.append((_table(batch), Failure.of_value(Stage.CONVERT, error, value, value_json, batch.schema).message))
    return Messages(events, bad)


def table_of(event: Event) -> str:
    """The name of the table that it is of."""
    return str(event["destination"]).rpartition(".")[2]


def changes_of(events: Sequence[Event]) -> list[Event]:
    """Without what is no change of a row: messages about transactions and schemas."""
    return [event for event in events if event["value"] is None or "op" in event["value"]["payload"]]


def of_table(events: Sequence[Event], table: str) -> list[Event]:
    """Those of one table."""
    return [event for event in events if table_of(event) == table]


def row_names(events: Sequence[Event], table: str) -> set[str]:
    """What the types of keys and rows of a table are called, without the server's name."""
    event = of_table(events, table)[0]
    named = [_field(event, "before"), _field(event, "after"), event["value"]["schema"], event["key"]["schema"]]
    return {schema["name"].partition(".")[2] for schema in named}


def _fields(events: Sequence[Event], *path: str) -> set[str]:
    found: set[str] = set()
    for event in filter(lambda event: event["value"], events):
        schema = event["value"]["schema"]
        for name in path:
            (schema,) = (field for field in schema["fields"] if field["field"] == name)
        found.update(field["field"] for field in schema["fields"])
    return found


def _field(event: Event, name: str) -> Mapping[str, Any]:
    (found,) = (field for field in event["value"]["schema"]["fields"] if field["field"] == name)
    return dict(found)


def _form(schema: Mapping[str, Any]) -> str:
    name = schema.get("name", "").rpartition(".")[2]
    parameters = ", ".join(f"{key}={value}" for key, value in sorted(schema.get("parameters", {}).items()))
    items = f" of {_form(schema['items'])}" if "items" in schema else ""
    return " ".join(filter(None, [schema["type"] + items, name + (f"({parameters})" if parameters else "")])) + (
        "?" if schema["optional"] else ""
    )


def in_order(events: Sequence[Event], table: str) -> Iterator[tuple[object, str | None]]:
    """The key of each message of a table, and what happened; None: a tombstone."""
    for event in of_table(events, table):
        value = event["value"]
        yield event["key"] and tuple(event["key"]["payload"].values()), value and value["payload"]["op"]


def _table(batch: SourceBatch) -> str:
    return batch.partition.rpartition(".")[2]

"""A task of the connector on a real server, and what came out of it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source import PostgresCdcSource
from connectors.postgres_cdc_source.logical.connection import Address
from connectors.postgres_cdc_source.logical.slots import inspect_slot
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.testing import at

SECONDS = 300.0
"""Only a hang takes longer."""


def config_of(address: Address, name: str, **more: str) -> dict[str, str]:
    """Of a connector whose slot, publication and tables have a name of their own: those of the schema `name`."""
    return {
        "hostname": address.host,
        "port": str(address.port),
        "database": address.database,
        "username": address.user,
        "slot.name": name,
        "publication.name": name,
        "table.include": rf"{name}\..*",
        "heartbeat.interval": "0.05",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def parsed(config: Mapping[str, str]) -> Config:
    """As the runtime gives it."""
    return parse(PostgresCdcSource.options, config)


class Captured:
    """What a task gave; everything is stored as soon as it was given, unless told otherwise.

    Attributes:
        records: Partition, offset, key, value.
        positions: What is stored.
    """

    def __init__(self, task: SourceTask, positions: Mapping[str, Offset], *, stores: bool) -> None:
        self.task = task
        self.records: list[tuple[str, Offset, Any, Any]] = []
        self.positions = dict(positions)
        self.stores = stores

    def poll(self) -> bool:
        """Once. Whether there was a record."""
        batch = self.task.poll()
        if batch is None:
            return False
        assert isinstance(batch, SourceBatch)
        keys = [None] * len(batch) if batch.keys is None else list(batch.keys)
        self.records += zip([batch.partition] * len(batch), batch.offsets, keys, list(batch.values), strict=True)
        if self.stores:
            position = {batch.partition: batch.end or batch.offsets[-1]}
            self.positions.update(position)
            self.task.committed(at(position))
        return bool(len(batch))

    def until(self, true: Callable[["Captured"], object]) -> "Captured":
        """Polls until it is so."""
        deadline = time.monotonic() + SECONDS
        while not true(self):
            assert time.monotonic() < deadline, f"it did not come; the last: {self.records[-3:]}"
            self.poll()
        return self

    def values(self) -> list[Any]:
        """The values alone."""
        return [value for *_, value in self.records]

    def ops(self) -> list[tuple[str, Any]]:
        """What happened to which row: the row after, or before a deletion."""
        return [(value["op"], value["after"] if value["after"] is not None else value["before"]) for value in self.values()]


def is_streaming(captured: Captured) -> bool:
    """The snapshot is over, and that is stored."""
    return captured.positions.get("log", (0, 0))[1] == 1


def wait_until_free(connection: psycopg.Connection[TupleRow], slot: str) -> None:
    """Until the server has seen that a stream ended."""
    deadline = time.monotonic() + SECONDS
    while (found := inspect_slot(connection, slot)) is not None and found.active_pid:
        assert time.monotonic() < deadline, f"slot {slot} is still in use"
        time.sleep(0.02)


@contextmanager
def capturing(
    config: Mapping[str, str],
    positions: Mapping[str, Offset] | None = None,
    *,
    stores: bool = True,
    columns: bool = True,
    uid: str = "test",
    **limits: int,
) -> Iterator[Captured]:
    """A task that runs; one that goes on somewhere begins when the server has let go of the slot of the one before."""
    source, made = PostgresCdcSource(), parsed(config)
    if positions:
        with psycopg.connect(
            host=made["hostname"], port=made["port"], user=made["username"], dbname=made["database"], autocommit=True
        ) as connection:
            wait_until_free(connection, made["slot.name"])
    task = source.open(made, source.plan(made, 1, {}).tasks[0], TaskContext(connector_uid=uid, columns=columns, **limits))  # type: ignore[arg-type]
    try:
        task.start(at(positions or {}))
        yield Captured(task, positions or {}, stores=stores)
    finally:
        task.close()


class Shop:
    """A schema with tables, a slot and a publication of its own."""

    def __init__(self, address: Address, connection: psycopg.Connection[TupleRow], name: str) -> None:
        self.address = address
        self.connection = connection
        self.name = name
        self.run(f"CREATE SCHEMA {name}")

    def run(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        for statement in statements:
            self.connection.execute(statement.encode())

    def config(self, **more: str) -> dict[str, str]:
        return config_of(self.address, self.name, **more)

    def fill(self, rows: int) -> None:
        self.run(
            f"CREATE TABLE {self.name}.orders (id bigint PRIMARY KEY, name text NOT NULL)",
            f"INSERT INTO {self.name}.orders SELECT n, 'order ' || n FROM generate_series(1, {rows}) n",
        )

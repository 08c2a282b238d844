"""Flights in a database, as events: a snapshot and changes, by our connectors, Debezium's engine, and the database's own dump.

Ours go into a topic of a broker on this machine. Debezium's engine writes its events to a file, which takes the place of a topic:
there is no broker, and nothing is sent.
"""

import itertools
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import captured, tables
from bench.captured import CHANGED, TABLE, Database
from bench.measuring.costs import Meter, per_million
from bench.measuring.instance import LIMIT_SECONDS, Instance, folder, instance
from bench.topic import Topic
from bench.workload import BenchFailed, Options, Sample, Workload
from demo.flights import content
from rocketconnect_cli.states import State, wait_for
from rocketmq_remoting import Client
from tests.servers import debezium

POLL_SECONDS = 0.05
_runs = itertools.count(1)
_JAVA = ("-Xms256m", "-Xmx1g")
_JSON = {
    "key.converter": "json",
    "key.converter.schemas.enable": "false",
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
}
_SETTINGS = {"provide.transaction.metadata": "false", "tombstones.on.delete": "false", "poll.interval.ms": "500"}
"""Debezium's defaults again, but for what would make two records of a change."""


def run(options: Options) -> Iterator[Sample]:
    """In turns, one database after the other."""
    rows = options.rows or 3 * tables.ROWS
    for start in (captured.mariadb, captured.postgres):
        with folder() as place:
            table = place / "flights.csv"
            columns = tables.write(table, rows)
            with start(table, columns) as database, instance() as it, Client(it.name_server) as client:
                for _ in range(options.repeats):
                    yield _dump(database, rows)
                    yield _our_snapshot(it, client, database, rows)
                    yield _snapshot(database, rows)
                    yield _our_changes(it, client, database, rows // 2)
                    yield _changes(database, rows // 2)


def _dump(database: Database, rows: int) -> Sample:
    begin = time.monotonic()
    captured.dump(database)
    return Sample(f"{database.title}, its own dump", {"rows_per_s": rows / (time.monotonic() - begin)})


def _our_snapshot(it: Instance, client: Client, database: Database, rows: int) -> Sample:
    topic = Topic(client, f"snapshot{next(_runs)}")
    it.settle()
    meter = Meter([it.root])
    it.create(topic.name, {**database.source(TABLE), **_JSON, "topic": topic.name, "table.topic": "${topic}"})
    sample = _measure_topic(f"{database.title} snapshot", it, topic, meter, rows)
    _check(sample.case, (event["after"] for event in topic.records()), database.rows(TABLE))
    it.delete(topic.name)
    return sample


def _our_changes(it: Instance, client: Client, database: Database, count: int) -> Sample:
    database.run([f"TRUNCATE TABLE {CHANGED}", f"INSERT INTO {CHANGED} SELECT * FROM {TABLE} ORDER BY 1 DESC LIMIT 1"])
    topic = Topic(client, f"changes{next(_runs)}")
    it.create_running(topic.name, {**database.source(CHANGED), **_JSON, "topic": topic.name, "table.topic": "${topic}"})
    while topic.count() < 1:
        time.sleep(POLL_SECONDS)
    # The changes are there before they are read, so that nothing waits for the database.
    it.api.request("POST", f"/v1/connectors/{topic.name}:pause")
    wait_for(it.api, topic.name, [State.PAUSED], LIMIT_SECONDS)
    database.run(captured.changes(count, database.quote))
    it.settle()
    meter = Meter([it.root])
    it.api.request("POST", f"/v1/connectors/{topic.name}:resume")
    sample = _measure_topic(f"{database.title} changes", it, topic, meter, count, 1)
    table: dict[int, dict[str, object]] = {}
    for event in topic.records():
        _apply(table, event)
    _check(sample.case, table.values(), database.rows(CHANGED))
    it.delete(topic.name)
    return sample


def _measure_topic(case: str, it: Instance, topic: Topic, meter: Meter, rows: int, before: int = 0) -> Sample:
    """Until so many messages have come behind those of before; the rate is that from the first of them on."""
    seen = first = 0
    begin = meter.seconds
    while seen < rows:
        if meter.seconds > LIMIT_SECONDS:
            msg = f"{case}: {seen:,} of {rows:,} events came; {it.states()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
        count = topic.count() - before
        if count and not seen:
            begin, first = meter.seconds, count
        seen = count
    rate = (rows - first) / (meter.seconds - begin)
    costs = meter.costs()
    task = max(cost.peak_mib for cost in costs if cost.role == "executor host")
    return Sample(case, {"rows_per_s": rate, "task_peak_mib": task, **per_million(costs, rows)}, costs)


def _snapshot(database: Database, rows: int) -> Sample:
    properties = {**database.debezium(TABLE), **_SETTINGS}
    with debezium.running(properties, schemas=False, java=_JAVA) as engine:
        meter = Meter([engine.process.pid])
        sample = _measure(f"{database.title} snapshot, Debezium", engine, meter, rows)
        _check(sample.case, (event["after"] for event in _events(engine.events_file)), database.rows(TABLE))
    return sample


def _changes(database: Database, count: int) -> Sample:
    database.run([f"TRUNCATE TABLE {CHANGED}", f"INSERT INTO {CHANGED} SELECT * FROM {TABLE} ORDER BY 1 DESC LIMIT 1"])
    properties = {**database.debezium(CHANGED), **_SETTINGS}
    with debezium.running(properties, schemas=False, java=_JAVA) as engine:
        engine.until(lambda event: event["value"]["source"]["snapshot"] == "last")
        before = engine.events_file.stat().st_size
        # The changes are there before they are read, so that nothing waits for the database.
        os.kill(engine.process.pid, signal.SIGSTOP)
        database.run(captured.changes(count, database.quote))
        meter = Meter([engine.process.pid])
        os.kill(engine.process.pid, signal.SIGCONT)
        sample = _measure(f"{database.title} changes, Debezium", engine, meter, count, before)
        table: dict[int, dict[str, object]] = {}
        for event in _events(engine.events_file):
            _apply(table, event)
    _check(sample.case, table.values(), database.rows(CHANGED))
    return sample


def _measure(case: str, engine: debezium.Engine, meter: Meter, rows: int, at: int = 0) -> Sample:
    """Until so many events have come behind a place in the file; the rate is that from the first of them on."""
    seen = first = 0
    begin = meter.seconds
    while seen < rows:
        if engine.process.poll() is not None or meter.seconds > LIMIT_SECONDS:
            msg = f"{case}: {seen:,} of {rows:,} events came; {engine.log()[-2_000:]}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
        if engine.events_file.exists():
            with engine.events_file.open("rb") as file:
                file.seek(at)
                part = file.read()
            at += len(part)
            if not seen:
                begin, first = meter.seconds, part.count(b"\n")
            seen += part.count(b"\n")
    rate = (rows - first) / (meter.seconds - begin)
    costs = meter.costs()
    return Sample(case, {"rows_per_s": rate, **per_million(costs, rows)}, costs)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)["value"]


def _apply(table: dict[int, dict[str, object]], event: Mapping[str, Any]) -> None:
    if event["op"] == "d":
        del table[event["before"][tables.COLUMN]]
    else:
        table[event["after"][tables.COLUMN]] = event["after"]


def _check(case: str, found: Iterable[Mapping[str, object]], wanted: Iterable[Mapping[str, object]]) -> None:
    has, should = content(found), content(wanted)
    if has != should:
        msg = f"{case}: the events make {has}, and the table has {should}"
        raise BenchFailed(msg)


WORKLOAD = Workload(
    "Flights in a database as events, beside Debezium's engine and the database's own dump",
    run,
    ("rows_per_s", "task_peak_mib", "own_cpu_s_per_million", "own_peak_mib"),
    ("rows_per_s",),
    usual=False,
)

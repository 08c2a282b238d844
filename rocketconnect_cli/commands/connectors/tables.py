"""Connectors and what they do, as tables."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.table import Table

from rocketconnect_cli.output import table_of, without_prefix
from rocketconnect_cli.shown import age, duration, instant, wanted_state
from rocketconnect_cli.states import DONE, counter, lag, rate, state_name, whole_lag
from rocketconnect_sdk.wording.counts import counted

Row = dict[str, Any]

_NAMED_TASKS = 3


def kind(row: Row) -> str:
    """The type of a connector: source, sink or direct."""
    return without_prefix(row.get("type"), "CONNECTOR_TYPE_").lower()


def connectors(rows: Sequence[Row], states: dict[str, Row]) -> list[Table | str]:
    """The table of connectors, and below it why some do not run, and which have dead letters, or dropped bad records.

    Args:
        rows: The connectors, each with its state, errors, deadLetters and dropped.
        states: By name what the state service says.
    """

    def cells(row: Row) -> tuple[object, ...]:
        tasks = states.get(row["name"], {}).get("tasks", [])
        running = sum(state_name(task) in DONE for task in tasks)
        behind = whole_lag(tasks)
        told = "-" if behind is None else behind
        work = f"{running}/{len(tasks)}", told, row["errors"]
        return row["name"], kind(row).upper(), row["state"], wanted_state(row), *work, row.get("revision", "")

    table = table_of(("NAME", "TYPE", "STATE", "WANTED", "TASKS", "LAG", "ERRORS", "REVISION"), map(cells, rows))
    traces = {row["name"]: states.get(row["name"], {}).get("trace", "").partition("\n")[0] for row in rows}
    why = [f"{name}: {trace}" for name, trace in traces.items() if trace]
    left = [_left(row["name"], row["deadLetters"], row["dropped"]) for row in rows]
    return [table, *why, *(line for each in left for line in each)]


def state(state: Row, now: datetime) -> list[Table | str]:
    """The table of what a connector and its tasks do, and below it why they do not run."""
    columns = ("TASK", "STATE", "WORKER", "SINCE", "IN", "OUT", "PER SECOND", "LAG", "ERRORS", "RESTARTS", "COUNTED")
    tasks = state.get("tasks", [])

    def cells(task: Row) -> tuple[object, ...]:
        speed, behind = rate(task), lag(task)
        moved = counter(task, "recordsIn"), counter(task, "recordsOut"), "-" if speed is None else f"{speed:,.0f}"
        problems = "-" if behind is None else behind.with_time, counter(task, "errors"), task.get("restarts", 0)
        since, counted = age(task.get("since", ""), now), age(task.get("metrics", {}).get("countedSince", ""), now)
        return task.get("task", 0), state_name(task), task.get("workerId", "-"), since, *moved, *problems, counted

    # Who planned it does not run it; while it is being planned, the trace says by whom.
    first = ("*", state_name(state), *[""] * (len(columns) - 2))
    rows = [first, *map(cells, tasks)]
    return [
        table_of(columns, rows),
        *open_batches(tasks, now),
        *left_out(state),
        *warned(tasks, now),
        *spark_pages(tasks),
        *_reasons(state.get("trace", ""), tasks),
    ]


def open_batches(tasks: Sequence[Row], now: datetime) -> Iterator[str]:
    """What sinks have read and not written, since they wait for more."""
    found = {task.get("task", 0): batch for task in tasks if (batch := task.get("metrics", {}).get("openBatch"))}
    if not found:
        return
    records = sum(int(batch.get("records", 0)) for batch in found.values())
    since = min(instant(batch.get("since", "")) for batch in found.values())
    waited = duration(max(0.0, (now - since).total_seconds()))
    dues = [instant(batch["due"]) for batch in found.values() if batch.get("due")]
    if not dues:
        yield f"{_of(list(found))}: {counted(records, 'record', 'waits', 'wait')} for {waited} until the sink has made them durable"
        return
    left = duration(max(0.0, (min(dues) - now).total_seconds()))
    where, next_ = ("an open batch", "it") if len(found) == 1 else ("open batches", "the next")
    held = counted(records, "record", "waits", "wait")
    yield f"{_of(list(found))}: {held} in {where} for {waited}; {next_} is written in {left}, or when it is full"


def left_out(state: Row) -> Iterator[str]:
    """What was left out since the tasks were started: how much, where it is, and the last one."""
    for task in state.get("tasks", []):
        dropped, kept = counter(task, "recordsSkipped"), counter(task, "deadLetters")
        last = task.get("metrics", {}).get("lastLeftOut", "")
        if not last or not dropped + kept:
            continue
        where = "and kept nowhere: errors.deadletterqueue.topic.name names a topic that keeps them"
        if kept:
            where = f"and kept: `rocketconnect dlq list {shlex.quote(state.get('connector', ''))}` shows them"
        count = counted(dropped + kept, "bad record", "was", "were")
        yield f"{_of([task.get('task', 0)])}: {count} left out since it was started, {where}. The last: {last}"


def warned(tasks: Sequence[Row], now: datetime) -> Iterator[str]:
    """What tasks have warned of since they were started."""
    for task in tasks:
        for one in task.get("metrics", {}).get("warnings", []):
            yield f"{_of([task.get('task', 0)])} warned {age(one.get('time', ''), now)} ago: {one.get('message', '')}"


def spark_pages(tasks: Sequence[Row]) -> Iterator[str]:
    """Where the Spark UI of each driver is, if it has one."""
    of: dict[str, list[int]] = {}
    for task in tasks:
        if page := task.get("metrics", {}).get("sparkUi", ""):
            of.setdefault(page, []).append(task.get("task", 0))
    for page, numbers in of.items():
        yield f"{_of(numbers)}: the Spark UI is at {page}"


def _reasons(whole: str, tasks: Sequence[Row]) -> Iterator[str]:
    """Why, each reason once: that of the connector is mostly the first of its tasks', which may all have the same."""
    of: dict[str, list[int]] = {}
    for task in tasks:
        if trace := task.get("trace", ""):
            number = task.get("task", 0)
            of.setdefault(trace, []).append(number)
            # What stands before it is the connector's own, and what stands behind it counts the other tasks.
            whole = whole.partition(f"task {number}: {trace}")[0].removesuffix("; ")
    if whole and whole not in of:
        yield f"connector: {whole}"
    for trace, numbers in of.items():
        yield f"{_of(numbers)}: {trace}"


def _of(numbers: Sequence[int]) -> str:
    """Tasks, for people."""
    named, more = ", ".join(map(str, numbers[:_NAMED_TASKS])), len(numbers) - _NAMED_TASKS
    return f"task{'s' if len(numbers) > 1 else ''} {named}{f' and {more} more' if more > 0 else ''}"


def _left(name: str, letters: int, dropped: int) -> Iterator[str]:
    if letters:
        what = counted(letters, "record", "has become a dead letter", "have become dead letters")
        yield f"{name}: {what} since its tasks were started; `rocketconnect dlq list {shlex.quote(name)}` shows what is there"
    if dropped:
        what = counted(dropped, "bad record", "was", "were")
        status = f"`rocketconnect connector status {shlex.quote(name)}` shows the last one"
        yield f"{name}: {what} dropped since its tasks were started, and kept nowhere; {status}"

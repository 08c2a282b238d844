"""What sources of lakes have in common before any of their tasks begins."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.lakes.reading.options import Start, parse_start, skips_gaps
from connectors.lakes.reading.places import Split, TableCoordinate, place_from, place_of, place_text, split_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.origins.origin import FILES, Origin
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

if TYPE_CHECKING:
    from connectors.lakes.reading.batches import Records
    from connectors.lakes.reading.log import Commit, TableLog
    from connectors.lakes.reading.task import LakeSourceTask

_SAMPLE_ROWS = 100


class LakeSource(Source):
    """A source of one table of a lake, with the options start() and READING (connectors.lakes.reading.options)."""

    @abstractmethod
    def log(self, config: Config) -> "TableLog":
        """The history of the table. Raises SystemAway: there is none; PermanentError: it can't be read right."""

    @abstractmethod
    def place(self, config: Config) -> tuple[str, Path]:
        """The option that names the table, and its directory."""

    def origins(self, config: Config) -> Iterable[Origin]:
        """The directory of the table, wherever links lead. See Source."""
        key, root = self.place(config)
        yield Origin(key, FILES, os.path.realpath(root))

    def records(self, config: Config, context: TaskContext) -> "Callable[[Commit], Records]":
        """What makes records of the rows of a version."""
        from connectors.lakes.reading.batches import Batches

        return lambda commit: Batches(commit, config["key.columns"], columnar=context.columns)

    def is_divided(self, config: Config) -> bool:
        """Whether a row may become several records."""
        del config
        return False

    def sample(self, config: Config) -> SourceBatch | None:
        """The first rows of the newest version that has some. See Source."""
        from connectors.lakes.reading.sampling import first_rows

        log = self.log(config)
        commit = log.whole(log.newest())
        return first_rows(commit, self.records(config, TaskContext())(commit), _SAMPLE_ROWS)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source. Where reading begins is in the plan, so that it is the same however often a task starts."""
        log = self.log(config)
        parts = config["splits"]
        splits = [Split(log.identity, number, parts).partition for number in range(parts)]
        has_all = all(split in positions for split in splits)
        begin = TableCoordinate(0) if has_all else _begin(log, parse_start(config["start"]))
        count = min(max_tasks, parts)
        common = {"table": log.identity, "begin": place_text(begin)}
        return Plan([{**common, "share": f"{number}/{count}"} for number in range(count)])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        log = self.log(config)
        split = split_of(partition)
        if split is None or split.table != log.identity or split.parts != config["splits"]:
            named = Split(log.identity, 0, config["splits"]).partition
            yield Problem(partition, "", "is no part of the table", f"Name one such as {named!r}.")
            return
        given = str(list(position.offset))
        try:
            place = place_of(position.offset)
        except ValueError as error:
            fix = "Give the version, 0 (1: all rows that it has), a file and a row: [12, 0, 0, 0]."
            yield Problem(partition, given, str(error), fix)
            return
        newest = log.newest()
        if not log.earliest <= place.version <= newest + 1 - place.whole:
            reason = f"is a version that is not there: the log has {log.earliest} to {newest}"
            yield Problem(partition, given, reason, f"Give one from {log.earliest} to {newest + 1}.")

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The earliest place is where `start` says; all rows that there are, where that is the newest one. See Source."""
        log = self.log(config)
        split = split_of(partition)
        if split is None or split.table != log.identity:
            msg = f"{partition} is no part of the table {log.identity}"
            raise PermanentError(msg)
        if place is Edge.EARLIEST and config["start"] != Start.LATEST.value:
            return Position(_begin(log, parse_start(config["start"])))
        return Position(_begin(log, Start(place.value) if isinstance(place, Edge) else place))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "LakeSourceTask":
        """See Source."""
        from connectors.lakes.reading.task import LakeSourceTask, Share
        from connectors.lakes.reading.walk import Policy

        number, count = map(int, task["share"].split("/"))
        parts = config["splits"]
        begin, numbers = place_from(task["begin"]), range(number, parts, count)
        share = Share(task["table"], begin, numbers, parts, config["poll.interval"], is_divided=self.is_divided(config))
        policy = Policy(self.records(config, context), config["on.rewrite"] == "skip", skips_gaps(config))
        return LakeSourceTask(partial(self.log, config), share, policy, context)

    def table_problems(self, config: Config, key: str) -> Iterable[Problem]:
        """What is wrong with the table, and with the options that depend on it.

        Args:
            config: The configuration.
            key: The option that names the table.
        """
        try:
            log = self.log(config)
        except (SystemAway, RetriableError) as error:
            yield Problem(key, config[key], str(error), "Name a table that is there and that the worker's user may read.")
            return
        except PermanentError as error:
            yield Problem(key, config[key], str(error), "Change the table, or name another one.")
            return
        yield from run_checks(config, *(partial(check, log) for check in (_start_problems, _key_problems)))


def _begin(log: "TableLog", wanted: Start | int | float) -> TableCoordinate:
    """Where reading begins.

    Raises:
        PermanentError: the version is not there.
    """
    if isinstance(wanted, int):
        return TableCoordinate(log.version_of(wanted))
    newest = log.newest()
    if isinstance(wanted, float):
        found = log.first_since(wanted)
        return TableCoordinate(newest + 1 if found is None else found)
    return TableCoordinate(newest, 1) if wanted is Start.EARLIEST else TableCoordinate(newest + 1)


def _start_problems(log: "TableLog", config: Config) -> Iterable[Problem]:
    try:
        begin = _begin(log, parse_start(config["start"]))
        unreadable = [file for file in log.whole(begin.version).files if file.unreadable] if begin.whole else []
    except PermanentError as error:
        yield Problem("start", config["start"], str(error), "Name a version that is there, earliest or latest.")
        return
    for file in unreadable[:1]:
        reason = f"the rows of {len(unreadable)} of the files can't be read: {file.path}: {file.unreadable}"
        yield Problem("start", config["start"], reason, "Write them anew, or begin with latest.")


def _key_problems(log: "TableLog", config: Config) -> Iterable[Problem]:
    names = log.columns.names
    for name in (name for name in config["key.columns"] if name not in names):
        yield Problem("key.columns", name, "is none of the columns", f"Name some of {', '.join(names)}.")

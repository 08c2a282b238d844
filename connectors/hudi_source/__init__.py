"""Rows of a table of Hudi into a topic, as they are added, without Spark."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.lakes.reading.directory import DirectorySource, directory_options, path_problems
from connectors.lakes.reading.places import place_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.record import Position

if TYPE_CHECKING:
    from connectors.hudi_source.log import HudiLog
    from connectors.lakes.reading.batches import Records
    from connectors.lakes.reading.changes import ChangeBatches
    from connectors.lakes.reading.log import Commit


class HudiSource(DirectorySource):
    """Reads the rows of a table of Hudi, and those that are added, exactly once."""

    name = "hudi_source"
    aliases = ("HudiSource",)
    kind = "hudi"
    options = directory_options(
        "with what the commit of this instant brings", "key.columns names the key of the table (hoodie.table.recordkey.fields)."
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, self.path_and_table_problems, self.mode_problems, self._changes_problems)

    def _changes_problems(self, config: Config) -> Iterable[Problem]:
        if not self.wants_changes(config) or any(path_problems(config)):
            return
        try:
            log = self.log(config)
        except ConnectorError:
            return  # told by table_problems
        given = config["key.columns"]
        if not log.key:
            reason = "needs a table with a key: hoodie.table.recordkey.fields names no column"
            yield Problem("mode", config["mode"], reason, "Set mode=append.")
        elif given and set(given) != set(log.key):
            reason = "is not the key of the table, by which Hudi knows rows"
            yield Problem("key.columns", ",".join(given), reason, f"Name {','.join(log.key)}.")
        yield from self.key_problems(config, log)

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source. Between the times of commits there is no place: a table is known by the commit that was read last."""
        problems = list(super().check_position(config, partition, position))
        yield from problems
        if problems:
            return
        log, place = self.log(config), place_of(position.offset)
        try:
            if place.whole:
                log.whole(place.version)
            else:
                log.commit(place.version)
        except PermanentError as error:
            fix = "Give when a commit was completed (of version 6: its instant), or a number one higher for what comes behind it."
            yield Problem(partition, str(list(position.offset)), str(error), fix)

    def log(self, config: Config) -> "HudiLog":
        """See LakeSource."""
        from connectors.hudi_source.log import HudiLog

        return HudiLog(Path(config["path"]), wants_changes=self.wants_changes(config))

    def changes(self) -> "type[ChangeBatches]":
        """See DirectorySource."""
        from connectors.hudi_source.records import ChangedRows

        return ChangedRows

    def records(self, config: Config, context: TaskContext) -> "Callable[[Commit], Records]":
        """See LakeSource."""
        from connectors.hudi_source.records import AddedRows

        if self.wants_changes(config):
            return super().records(config, context)
        return lambda commit: AddedRows(commit, config["key.columns"], columnar=context.columns)

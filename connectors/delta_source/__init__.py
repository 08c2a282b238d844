"""Rows of a Delta Lake table into a topic, as they are added, without Spark."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.lakes.reading.directory import DirectorySource, directory_options, path_problems
from rocketconnect_sdk.errors import ConnectorError, Problem
from rocketconnect_sdk.options import Config, run_checks

if TYPE_CHECKING:
    from connectors.delta_source.log import DeltaLog
    from connectors.lakes.reading.changes import ChangeBatches


class DeltaSource(DirectorySource):
    """Reads the rows of a Delta Lake table, and those that are added, exactly once."""

    name = "delta_source"
    aliases = ("DeltaSource",)
    kind = "delta"
    options = directory_options(
        "with what this version of the table brings",
        "the table has to keep them (delta.enableChangeDataFeed), and key.columns names a key of which no two rows have the same.",
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, self.path_and_table_problems, self.mode_problems, self._feed_problems)

    def _feed_problems(self, config: Config) -> Iterable[Problem]:
        if not self.wants_changes(config) or any(path_problems(config)):
            return
        try:
            log = self.log(config)
        except ConnectorError:
            return  # told by table_problems
        if not log.keeps_changes:
            fix = "Set this property of the table to true (changes that were made before are not known), or set mode=append."
            reason = "needs a table that keeps its changes: delta.enableChangeDataFeed is not true"
            yield Problem("mode", config["mode"], reason, fix)
        yield from self.key_problems(config, log)

    def log(self, config: Config) -> "DeltaLog":
        """See LakeSource."""
        from connectors.delta_source.log import DeltaLog

        return DeltaLog(Path(config["path"]), wants_changes=self.wants_changes(config))

    def changes(self) -> "type[ChangeBatches]":
        """See DirectorySource."""
        from connectors.lakes.reading.changes import ChangeBatches

        return ChangeBatches

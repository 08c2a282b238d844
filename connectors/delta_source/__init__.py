"""Rows of a Delta Lake table into a topic, as they are added, without Spark."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.lakes.reading.options import READING, start
from connectors.lakes.reading.source import LakeSource
from rocketconnect_sdk.changes.envelope import Origin
from rocketconnect_sdk.changes.form import OPTIONS as FORM
from rocketconnect_sdk.changes.form import ChangeForm
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, Problem
from rocketconnect_sdk.options import Config, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.delta_source.log import DeltaLog
    from connectors.lakes.reading.batches import Records
    from connectors.lakes.reading.log import Commit, DataFile

_APPEND, _CHANGES = "append", "changes"


class DeltaSource(LakeSource):
    """Reads the rows of a Delta Lake table, and those that are added, exactly once."""

    name = "delta_source"
    aliases = ("DeltaSource",)
    options = (
        Option(
            "path",
            "The absolute path of the directory of the table, on a file system of this machine.",
            required=True,
            access=Access.READ,
        ),
        start("with what this version of the table brings"),
        Option(
            "mode",
            "append: each row that is added is a record. changes: so is each change of a row, in the form of change.form; the "
            "table has to keep them (delta.enableChangeDataFeed), and key.columns names a key of which no two rows have the same.",
            default=_APPEND,
            choices=(_APPEND, _CHANGES),
        ),
        *FORM,
        *READING,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, _path_problems, _mode_problems, self._table_problems, self._feed_problems)

    def _table_problems(self, config: Config) -> Iterable[Problem]:
        return () if any(_path_problems(config)) else self.table_problems(config, "path")

    def _feed_problems(self, config: Config) -> Iterable[Problem]:
        if config["mode"] == _APPEND or any(_path_problems(config)):
            return
        try:
            log = self.log(config)
        except ConnectorError:
            return  # told by _table_problems
        if not log.keeps_changes:
            fix = "Set this property of the table to true (changes that were made before are not known), or set mode=append."
            reason = "needs a table that keeps its changes: delta.enableChangeDataFeed is not true"
            yield Problem("mode", _CHANGES, reason, fix)
        for name in (name for name in config["key.columns"] if name in log.columns.names):
            if log.columns.field(name).type.num_fields:
                yield Problem("key.columns", name, "is a list, a map or a struct, by which no row is known", "Name other columns.")

    def place(self, config: Config) -> tuple[str, Path]:
        """See LakeSource."""
        return "path", Path(config["path"])

    def log(self, config: Config) -> "DeltaLog":
        """See LakeSource."""
        from connectors.delta_source.log import DeltaLog

        return DeltaLog(Path(config["path"]), wants_changes=config["mode"] == _CHANGES)

    def is_divided(self, config: Config) -> bool:
        """A deletion may have a tombstone. See LakeSource."""
        return bool(config["mode"] == _CHANGES)

    def records(self, config: Config, context: TaskContext) -> "Callable[[Commit], Records]":
        """See LakeSource."""
        from connectors.lakes.reading.changes import ChangeBatches
        from connectors.lakes.reading.files import FileRows

        if config["mode"] == _APPEND:
            return super().records(config, context)
        key, form = config["key.columns"], ChangeForm.of(config)
        origin = Origin("delta", context.connector, "", "", Path(config["path"]).name)

        def opened(file: "DataFile", columns: "pa.Schema") -> FileRows:
            return FileRows(file, columns, 0, context.batch_records, context.batch_bytes)

        return lambda commit: ChangeBatches(commit, key, form, origin, columnar=context.columns, open_rows=opened)


def _path_problems(config: Config) -> Iterable[Problem]:
    given = config["path"]
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be read"
        yield Problem("path", given, reason, "Give an absolute path.")
    elif not Path(given).is_absolute():
        yield Problem("path", given, "is a relative path, and a worker has a directory of its own", "Give an absolute path.")


def _mode_problems(config: Config) -> Iterable[Problem]:
    if config["mode"] == _APPEND:
        for key in (option.key for option in FORM if option.key in config.raw):
            yield Problem(key, config.raw[key], "means nothing with mode=append", "Remove it, or set mode=changes.")
        return
    if not config["key.columns"]:
        yield Problem("key.columns", "", "is needed with mode=changes", "Name the columns that no two rows have the same of.")
    if config["splits"] > 1:
        reason = "has no order of changes between its parts, so mode=changes has one"
        yield Problem("splits", str(config["splits"]), reason, "Remove it, or set mode=append.")

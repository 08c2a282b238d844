"""What sources have in common of tables that a directory is the whole of, and that tell changes of rows."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.lakes.reading.options import READING, start
from connectors.lakes.reading.source import LakeSource
from rocketconnect_sdk.changes.envelope import Origin
from rocketconnect_sdk.changes.form import OPTIONS as FORM
from rocketconnect_sdk.changes.form import ChangeForm
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.roots import Access

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.lakes.reading.batches import Records
    from connectors.lakes.reading.changes import ChangeBatches
    from connectors.lakes.reading.log import Commit, DataFile, TableLog

_APPEND, _CHANGES = "append", "changes"


def directory_options(version: str, needs: str) -> tuple[Option, ...]:
    """The options of such a source.

    Args:
        version: What a number means as the start.
        needs: What the table needs for changes, and how key.columns has to be.
    """
    return (
        Option(
            "path",
            "The absolute path of the directory of the table, on a file system of this machine.",
            required=True,
            access=Access.READ,
            example="/tmp/orders",  # noqa: S108  # a folder that is there on every machine
        ),
        start(version),
        Option(
            "mode",
            "append: each row that is added is a record. changes: so is each change of a row, in the form of change.form; " + needs,
            default=_APPEND,
            choices=(_APPEND, _CHANGES),
        ),
        *FORM,
        *READING,
    )


class DirectorySource(LakeSource):
    """A source with the options directory_options()."""

    kind: str
    """Of the table, as changes say where they come from."""

    @abstractmethod
    def changes(self) -> "type[ChangeBatches]":
        """What makes records of the changes of a version."""

    def place(self, config: Config) -> tuple[str, Path]:
        """See LakeSource."""
        return "path", Path(config["path"])

    def is_divided(self, config: Config) -> bool:
        """A deletion may have a tombstone. See LakeSource."""
        return self.wants_changes(config)

    def wants_changes(self, config: Config) -> bool:
        """Whether each change of a row is a record."""
        return bool(config["mode"] == _CHANGES)

    def records(self, config: Config, context: TaskContext) -> "Callable[[Commit], Records]":
        """See LakeSource."""
        from connectors.lakes.reading.files import FileRows

        if not self.wants_changes(config):
            return super().records(config, context)
        key, form, made = config["key.columns"], ChangeForm.of(config), self.changes()
        origin = Origin(self.kind, context.connector, "", "", Path(config["path"]).name)

        def opened(file: "DataFile", columns: "pa.Schema") -> FileRows:
            return FileRows(file, columns, 0, context.batch_records, context.batch_bytes)

        return lambda commit: made(commit, key, form, origin, columnar=context.columns, open_rows=opened)

    def path_and_table_problems(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the path; where nothing is, with the table."""
        wrong = list(path_problems(config))
        yield from wrong or self.table_problems(config, "path")

    def mode_problems(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the options of changes, whatever the table is."""
        if not self.wants_changes(config):
            for key in (option.key for option in FORM if option.key in config.raw):
                yield Problem(key, config.raw[key], "means nothing with mode=append", "Remove it, or set mode=changes.")
            return
        if not config["key.columns"]:
            yield Problem("key.columns", "", "is needed with mode=changes", "Name the columns that no two rows have the same of.")
        if config["splits"] > 1:
            reason = "has no order of changes between its parts, so mode=changes has one"
            yield Problem("splits", str(config["splits"]), reason, "Remove it, or set mode=append.")

    def key_problems(self, config: Config, log: "TableLog") -> Iterable[Problem]:
        """What is wrong with key.columns as the key of changes."""
        for name in (name for name in config["key.columns"] if name in log.columns.names):
            if log.columns.field(name).type.num_fields:
                yield Problem("key.columns", name, "is a list, a map or a struct, by which no row is known", "Name other columns.")


def path_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the path itself."""
    given = config["path"]
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be read"
        yield Problem("path", given, reason, "Give an absolute path.")
    elif not Path(given).is_absolute():
        yield Problem("path", given, "is a relative path, and a worker has a directory of its own", "Give an absolute path.")

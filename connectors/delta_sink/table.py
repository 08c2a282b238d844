"""A Delta table, as Spark's Java has it: its state, commits without data, appends and merges."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from connectors.delta_sink.statement import merger
from connectors.file_sink.jobs import staged_job, uri
from connectors.lakes.seen import unseen
from connectors.lakes.staging import staged
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.targets.merging import Merge
from rocketconnect_sdk.wording.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_OVERTAKEN = re.compile(r"DELTA_(CONCURRENT\w*|METADATA_CHANGED|PROTOCOL_CHANGED|PATH_EXISTS)|Concurrent\w*Exception")
_LOG = "_delta_log"
_OPTIMIZE = "OPTIMIZE"


def is_table(root: Path) -> bool:
    """Whether a directory holds a Delta table."""
    return (root / _LOG).is_dir() and any((root / _LOG).glob("*.json"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a commit of rows has besides them.

    Attributes:
        name: An application transaction id.
        version: Its new version.
        said: What the history of the table says of it, as userMetadata.
    """

    name: str
    version: int
    said: str


class Snapshot:
    """The table at one time.

    Args:
        java: A Snapshot of Delta.
    """

    def __init__(self, java: Any) -> None:
        self._java = java
        self.number: int = java.version()

    def transactions(self, prefix: str) -> dict[str, int]:
        """The versions of the application transaction ids that begin so."""
        found = self._java.setTransactions()
        each = ((found.apply(index).appId(), found.apply(index).version()) for index in range(found.length()))
        return {name: version for name, version in each if name.startswith(prefix)}

    @property
    def columns(self) -> "StructType":
        """Its columns."""
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self._java.schema().json()))

    @property
    def partitions(self) -> Sequence[str]:
        """The columns by which it is partitioned."""
        found = self._java.metadata().partitionColumns()
        return [str(found.apply(index)) for index in range(found.length())]

    def setting(self, name: str) -> str:
        """A property of the table; "" where it is not set."""
        found = self._java.metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else ""


class Transaction:
    """One look at the table and one commit: of those who commit a version of the same id, one does.

    Args:
        root: The directory of the table.
        java: An OptimisticTransaction of Delta.
        jvm: Java.
    """

    def __init__(self, root: Path, java: Any, jvm: Any) -> None:
        self._root = root
        self._java = java
        self._jvm = jvm
        self.snapshot = Snapshot(java.snapshot())

    def commit(self, versions: Mapping[str, int]) -> None:
        """Stores versions by id, and nothing else.

        Raises:
            RetriableError: another commit has changed one of them since the look.
        """
        actions = self._jvm.java.util.ArrayList()
        for name, version in versions.items():
            # Asked for, it must not be another one when it is committed.
            self._java.txnVersion(name)
            now = self._jvm.scala.Option.apply(int(time.time() * 1000))
            actions.add(self._jvm.org.apache.spark.sql.delta.actions.SetTransaction(name, version, now))
        made = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
        operation = getattr(getattr(self._jvm.org.apache.spark.sql.delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
        with _understood(self._root):
            commit(self._java, made, operation)


class Table:
    """A Delta table in a directory of this machine.

    Args:
        root: The directory.
        session: Of Spark, with Delta.
    """

    def __init__(self, root: Path, session: "SparkSession") -> None:
        self._root = root
        self._session = session
        self._jvm: Any = session._jvm  # noqa: SLF001  # the way to Java

    def snapshot(self) -> Snapshot | None:
        """The newest state; None: there is no table yet."""
        none = getattr(getattr(self._jvm.scala, "None$"), "MODULE$")
        found = Snapshot(self._log().update(False, none, none))  # Java's has no names
        return found if found.number >= 0 else None

    def begin(self) -> Transaction | None:
        """A transaction on the newest state; None: there is no table yet."""
        begun = Transaction(self._root, self._log().startTransaction(), self._jvm)
        return begun if begun.snapshot.number >= 0 else None

    def make(self, nothing: "DataFrame", partitions: Sequence[str]) -> None:
        """Makes the table.

        Args:
            nothing: No rows, with its columns.
            partitions: The columns by which it is partitioned.

        Raises:
            RetriableError: another one was faster.
            PermanentError: there can be no such table.
        """
        made = nothing.write.format("delta").mode("errorifexists")
        if partitions:
            made = made.partitionBy(*partitions)
        with _understood(self._root):
            made.save(uri(self._root))

    def append(self, rows: "DataFrame", attempt: Attempt, *, merges: bool) -> None:
        """Adds rows, if the version of the attempt is higher than that in the table, and stores it with them.

        Args:
            rows: What is added.
            attempt: See Attempt.
            merges: Columns that the table does not have are added to it.

        Raises:
            RetriableError: another commit was in the way.
            SystemAway: there is no room.
            RecordError: a row cannot be made.
            PermanentError: the table does not take such rows.
        """
        made = rows.write.format("delta").mode("append").option("txnAppId", attempt.name).option("txnVersion", attempt.version)
        made = made.option("userMetadata", attempt.said)
        with _understood(self._root):
            append(made.option("mergeSchema", str(merges).lower()), uri(self._root))

    def merge(self, changes: Merge, columns: "StructType", key: Sequence[str], attempt: Attempt, *, evolves: bool) -> None:
        """Replaces and removes rows by their key, on the terms of append(). For a session that nobody else uses meanwhile.

        Args:
            changes: What becomes of the table.
            columns: The types of their rows.
            key: The columns of the key.
            attempt: See Attempt.
            evolves: Columns that the table does not have are added to it.

        Raises: as append.
        """
        settings = {
            "spark.databricks.delta.write.txnAppId": attempt.name,
            "spark.databricks.delta.write.txnVersion": str(attempt.version),
            "spark.databricks.delta.commitInfo.userMetadata": attempt.said,
            # Then all that a commit adds are whole files, as sync() looks for them.
            "spark.databricks.delta.merge.deletionVectors.persistent": "false",
        }
        place = uri(self._root)
        with _understood(self._root):
            rows = staged(self._session, changes, columns, key, self._session.read.format("delta").load(place))
            java = self._jvm.io.delta.tables.DeltaTable.forPath(self._session._jsparkSession, place)  # noqa: SLF001
            builder = merger(java, rows, changes, key)
            try:
                for name, value in settings.items():
                    self._session.conf.set(name, value)
                merge(builder.withSchemaEvolution() if evolves else builder)
            finally:
                for name in settings:
                    self._session.conf.unset(name)

    def compact(self, size: int, small: int) -> tuple[int, int]:
        """Puts small files together; what they have become is on the disk when it returns.

        Args:
            size: The most bytes that a file is to have.
            small: Files with fewer are small.

        Returns:
            How many small files there were, and how many they have become.

        Raises:
            RetriableError: another commit was in the way.
        """
        settings = {
            "spark.databricks.delta.optimize.maxFileSize": str(size),
            "spark.databricks.delta.optimize.minFileSize": str(small),
        }
        before = self._number()
        own = self._session.newSession()
        for name, value in settings.items():
            own.conf.set(name, value)
        with _understood(self._root):
            optimize(self._jvm.io.delta.tables.DeltaTable.forPath(own._jsparkSession, uri(self._root)))  # noqa: SLF001
        gone = added = 0
        for path, actions in self._commits(before):
            # Also those of another one, who may not have them on the disk yet.
            if any(each.get("commitInfo", {}).get("operation") == _OPTIMIZE for each in actions):
                self._bring(path, actions)
                gone += sum("remove" in each for each in actions)
                added += sum("add" in each for each in actions)
        return gone, added

    def sync(self, before: int, name: str, version: int) -> None:
        """Has what a commit has added on the disk: Delta leaves that to the operating system.

        Args:
            before: The number of the state in front of it, or an older one.
            name: The id of the commit.
            version: Its version.

        Raises:
            PermanentError: a file is not there: it was written elsewhere.
            OSError: it is not known whether it is on the disk.
        """
        for path, actions in self._commits(before):
            if any((each.get("txn", {}).get("appId"), each.get("txn", {}).get("version")) == (name, version) for each in actions):
                self._bring(path, actions)

    def _commits(self, before: int) -> "Iterator[tuple[Path, list[dict[str, Any]]]]":
        for number in range(before + 1, self._number() + 1):
            path = self._root / _LOG / f"{number:020}.json"
            yield path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]

    def _bring(self, path: Path, actions: "Sequence[Mapping[str, Any]]") -> None:
        """Has a commit, and what it adds, on the disk. Raises PermanentError: a file is not there."""
        # Where the table has a feed of its changes, MERGE adds files of these, too.
        files = [each[kind] for each in actions for kind in ("add", "cdc") if kind in each]
        added = [self._root / unquote(each["path"]) for each in files]
        if missing := [file for file in added if not file.exists()]:
            number = int(path.stem)
            lost = f"it does not see {counted(missing, 'file')} of version {number} of the table, such as {missing[0]}"
            fix = f"Restore the table to version {number - 1}, and reset the connector to its position"
            raise unseen(self._root, str(self._session.sparkContext.master), f"{lost}. {fix}")
        for file in (*added, path):
            sync(file)
        for folder in {file.parent for file in added} | {self._root, path.parent}:
            sync(folder)

    def _number(self) -> int:
        found = self.snapshot()
        return -1 if found is None else found.number

    def _log(self) -> Any:
        return self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._session._jsparkSession, uri(self._root))  # noqa: SLF001


def append(writer: Any, place: str) -> None:
    """Invariant 2: from here on the batch is in the table, and so are its positions."""
    writer.save(place)


def merge(builder: Any) -> None:
    """Invariant 2, as append()."""
    builder.execute()


def optimize(table: Any) -> None:
    """From here on the table has the large files in the place of the small ones, or has not."""
    table.optimize().executeCompaction()


def commit(transaction: Any, actions: Any, operation: Any) -> None:
    """Invariant 3: from here on what was read is still so, and what is committed is what others read."""
    transaction.commit(actions, operation)


@contextmanager
def _understood(root: Path) -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import AnalysisException, PySparkException

    try:
        with staged_job(root):
            yield
    except (Py4JError, PySparkException) as error:
        text = str(error).partition("\n\tat ")[0][:1000]
        if _OVERTAKEN.search(text):
            msg = f"{root}: another commit was in the way: {text}"
            raise RetriableError(msg, wait=0.1) from error
        if isinstance(error, AnalysisException):
            fix = "Give the records another table, or change the columns of this one"
            msg = f"{root}: the table does not take the rows: {text}. {fix}"
            raise PermanentError(msg) from error
        raise

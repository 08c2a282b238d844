"""An Iceberg table, as Spark's Java has it: looks at its newest state, and commits on what was seen."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from connectors.file_sink.jobs import staged_job
from connectors.iceberg_sink.catalogs import Catalog, Overtaken, java_name, local
from connectors.iceberg_sink.partitions import Transform
from connectors.lakes.seen import unseen
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.wording.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SAID = "rocketconnect"
"""Of the summary of a snapshot: what told() says."""
_NEWEST_FORMAT = 2
_REFUSED = ("ValidationException", "UnsupportedOperationException")


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit does.

    Attributes:
        properties: Of the table, which are set.
        files: Data files of Java's, which are added.
        gone: Data files of Java's, which are removed.
        said: What the snapshot says of them.
        columns: Those that are added to the table, with the others; None: none are.
        compacts: The files that are added have the same rows as those that are removed.
        on: The snapshot of which it is made; None: it adds to whatever is there.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[Any] = ()
    gone: Sequence[Any] = ()
    said: str = ""
    columns: "StructType | None" = None
    compacts: bool = False
    on: int | None = None


class TableState:
    """The newest state of a table when it was looked at, and one commit on it.

    Args:
        root: The directory of the table, for people.
        java: The table of Java's.
        catalog: Where it is.
        jvm: Java.
    """

    def __init__(self, root: Path, java: Any, catalog: Catalog, jvm: Any) -> None:
        self._root = root
        self._java = java
        self._catalog = catalog
        self._jvm = jvm
        # What is done in it is only made, not committed: Iceberg would do it again on what another one has committed.
        self._transaction: Any = java.newTransaction()
        self._base: Any = self._transaction.startMetadata()
        self.may_be_there = False
        """Whether a change that was tried may be there, whatever it ended with."""

    @cached_property
    def properties(self) -> dict[str, str]:
        """Of the table."""
        return {str(key): str(value) for key, value in dict(self._base.properties()).items()}

    @property
    def format(self) -> int:
        """The version of the format of the table."""
        return int(self._base.formatVersion())

    @property
    def columns(self) -> "StructType":
        """Its columns."""
        from pyspark.sql.types import StructType

        kind = self._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(self._base.schema())
        return StructType.fromJson(json.loads(kind.json()))

    @property
    def snapshot(self) -> int:
        """Which rows the table has; the number says nothing else."""
        found = self._base.currentSnapshot()
        return 0 if found is None else int(found.snapshotId())

    def tasks(self, column: str = "", within: tuple[int, int] | None = None) -> Sequence[Any]:
        """Of Java: what there is to be read, by file.

        Args:
            column: One that has whole numbers.
            within: The lowest and the highest one that is looked for in it: files that say that they have none of these are left
                out; None: all are there.
        """
        # A reader would leave out rows of a file by the filter, too.
        scan = self._java.newScan().ignoreResiduals()
        if within is not None:
            terms = self._jvm.org.apache.iceberg.expressions.Expressions
            least, most = terms.greaterThanOrEqual(column, within[0]), terms.lessThanOrEqual(column, within[1])
            scan = scan.filter(least).filter(most)
        planned = scan.planFiles()
        try:
            each, found = planned.iterator(), []
            while each.hasNext():
                found.append(each.next())
            return found
        finally:
            planned.close()

    @contextmanager
    def reading(self, session: "SparkSession", tasks: Sequence[Any]) -> "Iterator[DataFrame]":
        """The rows of some files, within the block.

        Args:
            session: Of Spark, with Iceberg.
            tasks: Of tasks().
        """
        if not tasks:
            yield session.createDataFrame([], self.columns)
            return
        tables = _single(self._jvm, "org.apache.iceberg.spark.SparkTableCache")
        staged = _single(self._jvm, "org.apache.iceberg.spark.ScanTaskSetManager")
        group, listed = f"rocketconnect-{uuid4()}", self._jvm.java.util.ArrayList()
        for task in tasks:
            listed.add(task)
        tables.add(group, self._java)
        staged.stageTasks(self._java, group, listed)
        try:
            yield session.read.format("iceberg").load(group)
        finally:
            staged.removeTasks(self._java, group)
            tables.remove(group)

    def stage(self, rows: "DataFrame") -> Sequence[Any]:
        """Writes rows into files beneath the table, which no commit has yet.

        Args:
            rows: Of all its columns.

        Raises:
            SystemAway: there is no room.
            RecordError: a row cannot be made.
            PermanentError: the table does not take such rows, or they were written elsewhere.
        """
        # As Iceberg's own actions have files written which they commit afterwards.
        tables = _single(self._jvm, "org.apache.iceberg.spark.SparkTableCache")
        written = _single(self._jvm, "org.apache.iceberg.spark.FileRewriteCoordinator")
        group = f"rocketconnect-{uuid4()}"
        with understood(self.location):
            tables.add(group, self._java)
            try:
                # Where a column takes no null it was looked at whether values are any.
                rows.write.format("iceberg").mode("append").option("check-nullability", "false").save(group)
                files = list(written.fetchNewFiles(self._java, group))
            finally:
                written.clearRewrite(self._java, group)
                tables.remove(group)
        # Invariant 5: Iceberg would commit what it was told of.
        if missing := [name for file in files if not local(name := str(file.location())).exists()]:
            reason = f"of {counted(files, 'file')} that they wrote, it does not see {len(missing)}, such as {missing[0]}"
            raise unseen(self.location, str(rows.sparkSession.sparkContext.master), reason)
        return files

    def forget(self, files: Sequence[Any]) -> None:
        """Removes files that no commit has, as far as that is possible."""
        for file in files:
            self._remove(str(file.location()))

    def commit(self, change: Change) -> None:
        """Makes a change if what was looked at still is the newest state. Durable when it returns.

        Raises:
            Overtaken: it is not; nothing was done.
            OSError, SystemAway, RetriableError: it may be there, or not.
            PermanentError: there can be no such table.
        """
        with understood(self.location):
            made = self._made(change)
            self._sync(made, change.files)
            self.may_be_there = True
            try:
                self._catalog.publish(self._transaction.underlyingOps(), self._base, made)
            except Overtaken:
                self.may_be_there = False
                for location in self._own(made):
                    self._remove(location)
                raise

    def _made(self, change: Change) -> Any:
        transaction = self._transaction
        if change.columns is not None:
            kind = self._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(java_type(self._jvm, change.columns))
            transaction.updateSchema().unionByNameWith(kind).commit()
        if change.files or change.gone or not self._catalog.compares_all:
            if change.compacts:
                # Readers of what is new leave such a snapshot out.
                added = transaction.newRewrite()
            else:
                added = transaction.newOverwrite() if change.gone else transaction.newAppend()
            for file in change.gone:
                added.deleteFile(file)
            for file in change.files:
                (added.addFile if change.gone else added.appendFile)(file)
            added.set(_SAID, change.said)
            added.commit()
        properties = transaction.updateProperties()
        for key, value in change.properties.items():
            properties.set(key, value)
        properties.commit()
        return transaction.currentMetadata()

    def _own(self, made: Any) -> list[str]:
        """The files that list what a snapshot has, which this commit has made."""
        snapshot, before = made.currentSnapshot(), self._base.currentSnapshot()
        if snapshot is None or (before is not None and before.snapshotId() == snapshot.snapshotId()):
            return []
        manifests = [each for each in snapshot.allManifests(self._java.io()) if each.snapshotId() == snapshot.snapshotId()]
        return [*(str(each.path()) for each in manifests), str(snapshot.manifestListLocation())]

    def _sync(self, made: Any, files: Sequence[Any]) -> None:
        """Has all that a commit names on the disk: Iceberg leaves that to the operating system. Raises OSError."""
        root, folders = self.location, set()
        for location in (*(str(file.location()) for file in files), *self._own(made)):
            path = local(location)
            # Iceberg opens files by their names, and properties of the table say where.
            writing().check(path)
            for each in (path, path.with_name(f".{path.name}.crc")):
                if each.exists():
                    sync(each)
            folders.add(path.parent)
            folders.update(parent for parent in path.parents if root in parent.parents or parent == root)
        for folder in folders:
            sync(folder)

    def _remove(self, location: str) -> None:
        with suppress(OSError):
            path = local(location)
            for each in (path, path.with_name(f".{path.name}.crc")):
                writing().remove(each)

    @property
    def location(self) -> Path:
        """The directory of the table. Raises PermanentError: it is on no file system of this machine."""
        return local(str(self._java.location()))


class Table:
    """An Iceberg table whose files are in a directory of this machine.

    Args:
        root: The directory, for people.
        catalog: Where it is.
        session: Of Spark, with Iceberg.
    """

    def __init__(self, root: Path, catalog: Catalog, session: "SparkSession") -> None:
        self._root = root
        self._catalog = catalog
        self._jvm: Any = session._jvm  # noqa: SLF001  # the way to Java

    def close(self) -> None:
        """Gives back what the catalogue holds."""
        self._catalog.close()

    def look(self) -> TableState | None:
        """At its newest state; None: there is no table yet.

        Raises:
            PermanentError: it is none that can be written.
        """
        found = self._catalog.load()
        if found is None:
            return None
        look = TableState(self._root, found, self._catalog, self._jvm)
        if look.format > _NEWEST_FORMAT:
            fix = "Give the records another table"
            msg = f"{self._root}: the table has format version {look.format}, and those up to {_NEWEST_FORMAT} are written. {fix}"
            raise PermanentError(msg)
        return look

    def make(self, columns: "StructType", partitions: Sequence[Transform]) -> None:
        """Makes the table, if it is not there.

        Args:
            columns: Of its rows.
            partitions: How it is partitioned.

        Raises:
            PermanentError: there can be no such table.
        """
        iceberg = self._jvm.org.apache.iceberg
        with understood(self._root) if self._catalog.makes_folders else _taken(self._root), suppress(Overtaken):
            schema = iceberg.spark.SparkSchemaUtil.convert(java_type(self._jvm, columns))
            builder = iceberg.PartitionSpec.builderFor(schema)
            for each in partitions:
                # In Java each transform is a method of its name.
                add = getattr(builder, each.name)
                builder = add(each.column, each.width) if each.width else add(each.column)
            self._catalog.create(schema, builder.build())


def java_type(jvm: Any, columns: "StructType") -> Any:
    """Columns as Java has them."""
    return jvm.org.apache.spark.sql.types.DataType.fromJson(columns.json())


def _single(jvm: Any, name: str) -> Any:
    """What the static method get() of a class gives; Py4J cannot call it where there are others of that name."""
    kind = jvm.py4j.reflection.ReflectionUtil.classForName(name)
    return kind.getMethod("get", None).invoke(None, None)


@contextmanager
def understood(root: Path) -> Iterator[None]:
    """What Iceberg and Spark fail with in the block becomes what the task does about it.

    Raises:
        SystemAway: there is no room.
        RecordError: a row cannot be made.
        PermanentError: there is no such table, or rows are not for it.
    """
    with _taken(root), staged_job(root):
        yield


@contextmanager
def _taken(root: Path) -> Iterator[None]:
    """Raises PermanentError: there is no such table, or rows are not for it."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import AnalysisException, IllegalArgumentException

    wrong = (AnalysisException, IllegalArgumentException)
    try:
        yield
    except (Py4JJavaError, *wrong) as error:
        text = str(error).partition("\n\tat ")[0][:1000]
        if isinstance(error, wrong) or java_name(error) in _REFUSED:
            fix = "Give the records another table, or change the columns or the partitions of this one"
            msg = f"{root}: the table does not take the rows: {text}. {fix}"
            raise PermanentError(msg) from error
        raise

"""A table of Hudi, as Hudi's own client writes it in the Java of the Spark session."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyarrow import parquet

from connectors.file_sink.jobs import staged_job
from connectors.hudi_sink.columns import COLUMNS, arrow_schema, columns_of, said_of, said_when_made
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SOURCES = ("WholeFiles.java", "Table.java")
_WAIT_SECONDS = 120
_CREATED = "hoodie.table.create.schema"
_SIMPLE, _COMPLEX, _NO_PARTITION = (
    f"org.apache.hudi.keygen.{name}KeyGenerator" for name in ("Simple", "Complex", "Nonpartitioned")
)
_compiled: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_compiling = Lock()


class Overtaken(RetriableError):
    """Another commit was faster. Nothing was done."""


@dataclass(frozen=True, slots=True)
class TableState:
    """The table at one time.

    Attributes:
        state: Its newest commit.
        kept: What the newest commit of this sink's keeps beside its rows; whoever commits keeps all of it.
        columns: Its columns.
        settings: What it says of itself.
    """

    state: str
    kept: Mapping[str, str]
    columns: Schema
    settings: Mapping[str, str]

    @property
    def key(self) -> Sequence[str]:
        """The columns of its key; none: rows have no key of their own."""
        return _names(self.settings.get("hoodie.table.recordkey.fields", ""))

    @property
    def partitions(self) -> Sequence[str]:
        """The columns that it is partitioned by."""
        return _names(self.settings.get("hoodie.table.partition.fields", ""))


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does.

    Attributes:
        rows: Rows to be written; None: none.
        gone: Rows that go, of which the key counts; None: none do.
        how: insert, upsert, or overwrite, where all other rows go.
        token: Begins the keys of rows of a table without a key.
    """

    rows: pa.Table | None = None
    gone: pa.Table | None = None
    how: str = "insert"
    token: str = ""


class Table:
    """A table of Hudi in a directory of this machine.

    Args:
        root: The directory.
        session: Of Spark, with Hudi's jars.
        settings: Of Hudi's.
    """

    def __init__(self, root: Path, session: "SparkSession", settings: Mapping[str, str]) -> None:
        self._root = root
        self._settings = settings
        self._java = _table_of(session, root)

    def look(self) -> TableState | None:
        """The newest state; None: there is no table yet."""
        with _understood(self._root):
            text = self._java.look()
        if text is None:
            return None
        found = json.loads(text)
        columns = columns_of(found["schema"], found["kept"].get(COLUMNS) or said_when_made(found["table"].get(_CREATED)))
        return TableState(found["state"], found["kept"], columns, found["table"])

    def make(self, columns: Schema, key: Sequence[str], partitions: Sequence[str]) -> None:
        """Makes the table, where it is not there yet.

        Args:
            columns: Its columns.
            key: The columns of its key; none: rows have no key of their own.
            partitions: The columns that it is partitioned by.

        Raises:
            RetriableError: another one has made it, which may have other columns.
        """
        name = "".join(each if each.isascii() and each.isalnum() else "_" for each in self._root.name)
        name = name if name[:1].isalpha() else f"t_{name}"
        simple = _NO_PARTITION if not partitions else _SIMPLE if len(key) < 2 and len(partitions) == 1 else _COMPLEX
        writing().make_folder(self._root)
        with _understood(self._root), _file(arrow_schema(columns).empty_table()) as path:
            made = self._java.make(name, path, said_of(columns), ",".join(key), ",".join(partitions), simple)
        if not made:
            msg = f"{self._root}: another one has made the table meanwhile"
            raise RetriableError(msg, wait=0.1)

    def commit(self, look: TableState, change: Change, kept: Mapping[str, str]) -> None:
        """Makes a commit of a change and of what is kept beside it; it is on the disk when this returns.

        Raises:
            Overtaken: the state is another one than that which was looked at.
            RetriableError: it is not known whether it is there.
            SystemAway: there is no room.
        """
        with _understood(self._root), _file(change.rows) as rows, _file(change.gone) as gone:
            commit(self._java, look.state, rows, gone, change.token, change.how, dict(kept), dict(self._settings))

    def rows_of(self, keys: pa.Table) -> pa.Table | None:
        """The rows of the files that may have rows with these keys; None: no file has."""
        with _understood(self._root), _file(keys) as path:
            files = json.loads(self._java.filesOf(path))
        tables = [parquet.read_table(file, partitioning=None) for file in sorted(files)]
        return pa.concat_tables(tables, promote_options="permissive") if tables else None


def commit(java: Any, *given: Any) -> None:
    """Invariants 2 and 3: from here on the batch is in the table with its positions, or what was looked at is not true any more."""
    java.commit(*given)


def _names(text: str) -> Sequence[str]:
    return [name for name in text.split(",") if name]


@contextmanager
def _file(table: pa.Table | None) -> Iterator[str | None]:
    """A Parquet file in memory that Java can open while the block runs: it leaves nothing behind, however this process ends."""
    if table is None:
        yield None
        return
    memory = os.memfd_create("rocketconnect-hudi")
    try:
        with os.fdopen(memory, "wb", closefd=False) as file:
            parquet.write_table(table, file, compression="none", use_dictionary=False)
        yield f"/proc/{os.getpid()}/fd/{memory}"
    finally:
        os.close(memory)


def _table_of(session: "SparkSession", root: Path) -> Any:
    """The Table of Java's; its class is made once in a Java."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001  # the way to Java
    with _compiling:
        if gateway not in _compiled:
            loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
            for name in _SOURCES:
                compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
                compiler.setParentClassLoader(loader)
                compiler.cook(Path(__file__).with_name(name).read_text(encoding="utf-8"))
                loader = compiler.getClassLoader()
            _compiled[gateway] = loader.loadClass("rocketconnect.hudi.Table").getConstructors()[0]
    given = gateway.new_array(gateway.jvm.java.lang.Object, 2)
    given[0], given[1] = str(root.absolute()), gateway.jvm.java.lang.Long.valueOf(_WAIT_SECONDS)
    return _compiled[gateway].newInstance(given)


@contextmanager
def _understood(root: Path) -> Iterator[None]:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    try:
        with staged_job(root):
            yield
    except Py4JJavaError as error:
        text = str(error.java_exception)
        if "ConcurrentModificationException" in text and "another commit was faster" in text:
            msg = f"{root}: another commit was faster"
            raise Overtaken(msg, wait=0.1) from error
        msg = f"{root}: {text[:1000]}"
        raise RetriableError(msg) from error

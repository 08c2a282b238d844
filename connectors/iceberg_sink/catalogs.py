"""Where it is kept which state of a table is the newest: the one place where of two commits on the same state one succeeds."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote
from uuid import uuid4

from connectors.file_sink.jobs import uri
from connectors.jdbc import Endpoint, parse_url
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.permissions.connections import addresses
from rocketconnect_sdk.permissions.roots import writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_METADATA = "metadata"
_HINT = "version-hint.text"
_STATE = re.compile(r"v([0-9]+)(?:\.gz|\.zstd)?\.metadata\.json(?:\.gz)?")
_SUFFIXES = (".metadata.json", ".gz.metadata.json", ".zstd.metadata.json", ".metadata.json.gz")
_DENIED = re.compile(r"password authentication failed|no password was provided|role .* does not exist|database .* does not exist")


OVERTAKEN = ("CommitFailedException", "AlreadyExistsException")
"""What Java says where another commit, or who has made a table, was faster."""


class Overtaken(RetriableError):
    """Another commit has made a state that nobody had seen: nothing of this one is there."""


def is_table(root: Path) -> bool:
    """Whether a directory holds an Iceberg table."""
    return any((root / _METADATA).glob("*.metadata.json*"))


def local(location: str) -> Path:
    """The path of a file that Iceberg names. Raises PermanentError: it is on no file system of this machine."""
    scheme, found, rest = location.partition(":")
    if not found:
        return Path(location)
    if scheme != "file":
        msg = f"{location}: the files of the table are not in a directory of this machine, and only such tables can be written"
        raise PermanentError(msg)
    return Path("/" + rest.lstrip("/"))


class Catalog(ABC):
    """One table in a catalogue.

    Args:
        root: The directory of the table, if it is made here.
        warehouse: The directory beneath which tables are made; None: the catalogue has one.
        table: The names of its namespaces, and its own, with points between them.
        session: Of Spark, with Iceberg.
    """

    makes_folders: ClassVar[bool] = True
    """Whether a table is made by this process, in the directory `root`."""
    compares_all: ClassVar[bool] = True
    """Whether two commits on one state never succeed both, whatever they change; else two that make a snapshot do not."""

    def __init__(self, root: Path, warehouse: Path | None, table: str, session: "SparkSession") -> None:
        self._root = root
        self._session = session
        jvm: Any = session._jvm  # noqa: SLF001  # the way to Java
        self._jvm = jvm
        self._ident: Any = jvm.org.apache.iceberg.catalog.TableIdentifier.parse(table)
        self._java: Any = self._opened({} if warehouse is None else {"warehouse": uri(warehouse)})

    def load(self) -> Any | None:
        """The table of Java's at its newest state; None: there is none. Raises SystemAway, PermanentError."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        with self._reached():
            try:
                return self._java.loadTable(self._ident)
            except Py4JJavaError as error:
                if java_name(error) == "NoSuchTableException":
                    return None
                raise

    def close(self) -> None:
        """Gives back what it holds: connections to a database."""
        self._java.close()

    @abstractmethod
    def create(self, schema: Any, spec: Any) -> None:
        """Makes the table. Raises Overtaken: there is one by now."""

    def _make_namespace(self, namespace: Any) -> None:
        """Makes it in Java's catalogue, if it is not there."""
        from py4j.protocol import Py4JJavaError

        if self._java.namespaceExists(namespace):
            return
        try:
            self._java.createNamespace(namespace)
        except Py4JJavaError as error:
            if java_name(error) != "AlreadyExistsException":
                raise

    def _make_table(self, make: Callable[[], Any]) -> Any:
        """What Java gives for the table that it makes, or begins. Raises Overtaken: there is one by now."""
        from py4j.protocol import Py4JJavaError

        try:
            return make()
        except Py4JJavaError as error:
            if java_name(error) == "AlreadyExistsException":
                msg = f"{self._root}: another one has made the table meanwhile"
                raise Overtaken(msg, wait=0.1) from None
            raise

    def _builder(self, schema: Any, spec: Any) -> Any:
        return self._java.buildTable(self._ident, schema).withPartitionSpec(spec)

    @abstractmethod
    def publish(self, operations: Any, base: Any, made: Any) -> None:
        """Makes a state the newest one if `base` still is, else Overtaken. Durable when it returns.

        Args:
            operations: Those of the table, of Java.
            base: The state that was looked at.
            made: The state that was made of it, whose files are on the disk.

        Raises:
            OSError, RetriableError: it is not known what became of it.
        """

    @abstractmethod
    def _opened(self, properties: Mapping[str, str]) -> Any:
        """The catalogue of Java's."""

    @contextmanager
    def _reached(self) -> Iterator[None]:
        yield


class DirectoryCatalog(Catalog):
    """Iceberg's Hadoop catalogue: the newest state is the file with the highest number.

    Iceberg renames a file to the next number, which on a local file system replaces what another process has put there meanwhile.
    A hard link does not: of two one fails.
    """

    def create(self, schema: Any, spec: Any) -> None:
        """See Catalog."""
        for folder in (*reversed(self._parents()), self._root, self._root / _METADATA):
            writing().make_folder(folder)
            sync(folder.parent)
        transaction = self._make_table(self._builder(schema, spec).createTransaction)
        self.publish(None, None, transaction.currentMetadata())

    def publish(self, operations: Any, base: Any, made: Any) -> None:
        """See Catalog."""
        folder = self._root / _METADATA
        number = 0 if base is None else self._number(base)
        text: str = self._jvm.org.apache.iceberg.TableMetadataParser.toJson(made)
        if self._hinted() > number or any((folder / f"v{number + 1}{suffix}").exists() for suffix in _SUFFIXES):
            raise self._overtaken(number + 1)
        staged = folder / f"rocketconnect-{uuid4()}.tmp"
        try:
            with os.fdopen(writing().open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            link(staged, folder / f"v{number + 1}.metadata.json")
        except FileExistsError:
            raise self._overtaken(number + 1) from None
        finally:
            writing().remove(staged)
        sync(folder)
        # What is below is for those who come later, and no part of the commit.
        with suppress(OSError):
            self._hint(number + 1)
        if operations is not None:
            self._jvm.org.apache.iceberg.CatalogUtil.deleteRemovedMetadataFiles(operations.io(), base, made)

    def _opened(self, properties: Mapping[str, str]) -> Any:
        made = self._jvm.org.apache.iceberg.hadoop.HadoopCatalog()
        made.setConf(self._session._jsc.hadoopConfiguration())  # noqa: SLF001
        made.initialize("rocketconnect", dict_of(self._jvm, properties))
        return made

    def _parents(self) -> list[Path]:
        """The directories that the table is in, up to the warehouse, the innermost first."""
        return list(self._root.parents[: self._ident.namespace().length() + 1])

    def _number(self, state: Any) -> int:
        location = str(state.metadataFileLocation())
        found = _STATE.fullmatch(Path(location).name)
        if found is None:
            msg = f"{location}: is not the name of a state of a table in a directory: is the table in another catalogue?"
            raise PermanentError(msg)
        return int(found[1])

    def _hinted(self) -> int:
        """Where readers begin to look for the newest state."""
        try:
            return int((self._root / _METADATA / _HINT).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def _hint(self, number: int) -> None:
        if self._hinted() >= number:
            return
        folder, roots = self._root / _METADATA, writing()
        staged = folder / f"rocketconnect-{uuid4()}.tmp"
        with os.fdopen(roots.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(str(number).encode())
        # Hadoop keeps a checksum of what it has written there itself.
        roots.remove(folder / f".{_HINT}.crc")
        roots.rename(staged, folder / _HINT)

    def _overtaken(self, number: int) -> Overtaken:
        return Overtaken(f"{self._root}: another commit was faster: there is a state {number}", wait=0.1)


class DatabaseCatalog(Catalog):
    """Iceberg's JDBC catalogue in a PostgreSQL: the newest state is named by a row, which is changed by compare-and-set.

    Args:
        root: See Catalog.
        warehouse: See Catalog.
        table: See Catalog.
        session: See Catalog.
        name: Of the catalogue: tables of catalogues with other names are others.
        url: Of the database.
        user: Of the database.
        password: Of the user; None: none.
    """

    def __init__(
        self,
        root: Path,
        warehouse: Path,
        table: str,
        session: "SparkSession",
        *,
        name: str,
        url: str,
        user: str,
        password: str | None,
    ) -> None:
        self._name = name
        self._place = parse_url(url)
        self._login = {"jdbc.user": user, **({} if password is None else {"jdbc.password": password})}
        super().__init__(root, warehouse, table, session)

    def create(self, schema: Any, spec: Any) -> None:
        """See Catalog."""
        with self._reached():
            self._make_namespace(self._ident.namespace())
            self._make_table(self._builder(schema, spec).create)

    def publish(self, operations: Any, base: Any, made: Any) -> None:
        """See Catalog."""
        from py4j.protocol import Py4JJavaError

        with self._reached():
            try:
                exchange(operations, base, made)
            except Py4JJavaError as error:
                if java_name(error) in OVERTAKEN:
                    msg = f"{self._root}: another commit was faster"
                    raise Overtaken(msg, wait=0.1) from None
                raise
            file = local(str(operations.refresh().metadataFileLocation()))
        for path in (file, file.parent):
            sync(path)

    def _opened(self, properties: Mapping[str, str]) -> Any:
        place = self._place
        known = {
            "uri": f"jdbc:postgresql://{_servers(place)}/{quote(place.database)}?connectTimeout=10&socketTimeout=60",
            "jdbc.schema-version": "V1",
            **self._login,
            **properties,
        }
        # The driver says to Java that it is there when it is loaded.
        self._jvm.py4j.reflection.ReflectionUtil.classForName("org.postgresql.Driver")
        made = self._jvm.org.apache.iceberg.jdbc.JdbcCatalog()
        made.setConf(self._session._jsc.hadoopConfiguration())  # noqa: SLF001
        with self._reached():
            made.initialize(self._name, dict_of(self._jvm, known))
        return made

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raises SystemAway: the database does not answer; PermanentError: it does not let us in."""
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            told = str(error)
            if "PSQLException" not in told:
                raise
            reason = next(line for line in told.splitlines() if "PSQLException" in line).partition("PSQLException: ")[2]
            if _DENIED.search(told):
                msg = f"{self._place}: the catalogue lets nobody in: {reason}. Set catalog.url, catalog.user and catalog.password"
                raise PermanentError(msg) from None
            msg = f"{self._place}: the catalogue does not answer: {reason}"
            raise SystemAway(msg) from None


def _servers(place: Endpoint) -> str:
    """As Java's driver takes them: by their addresses where those were judged, so that no name is looked up anew."""
    try:
        found = addresses(place.host, place.port)
    except OSError as error:
        msg = f"{place}: the catalogue does not answer: {error}"
        raise SystemAway(msg) from None
    hosts = [place.host] if found is None else [f"[{each}]" if ":" in each else each for _, each in found]
    return ",".join(f"{host}:{place.port}" for host in hosts)


def java_name(error: Any) -> str:
    """The name of the class of an error of Java's, without its package."""
    return str(error.java_exception.getClass().getSimpleName())


def dict_of(jvm: Any, properties: Mapping[str, str]) -> Any:
    """A map of Java's."""
    made = jvm.java.util.HashMap()
    for key, value in properties.items():
        made.put(key, value)
    return made


def link(staged: Path, state: Path) -> None:
    """Invariants 2 and 3: from here on the state is what others read; raises FileExistsError where there is one of its number."""
    writing().link(staged, state)


def exchange(operations: Any, base: Any, made: Any) -> None:
    """Invariants 2 and 3, as link()."""
    operations.commit(base, made)

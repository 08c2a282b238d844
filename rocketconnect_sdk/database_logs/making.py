"""How the changes of tables become records, for snapshots and the log alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys, Origin, TableChanges
from rocketconnect_sdk.changes.topics import Named, Topics, named
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import Schema


class Path(NamedTuple):
    """Where a table stands.

    Attributes:
        database: Its database.
        schema: Its schema; empty: the databases of this server have none.
        table: The table.
    """

    database: str
    schema: str
    table: str

    @property
    def labels(self) -> Mapping[str, str]:
        """What templates of topics may name."""
        return {name: value for name, value in self._asdict().items() if name != "schema" or value}


N = TypeVar("N")
"""Of tables. As text, names are what filters and people write."""
N_co = TypeVar("N_co", covariant=True)


class CapturedTable(Protocol[N_co]):
    """A table at some time, as far as it is captured."""

    @property
    def name(self) -> N_co:
        """Its name."""
        ...

    @property
    def schema(self) -> Schema:
        """The type of its rows."""
        ...

    @property
    def key(self) -> Sequence[str]:
        """The columns of its primary key; empty: it has none."""
        ...


def named_of(template: str, topic: str, name: object, path: Path) -> Named:
    """A table and its topic.

    Args:
        template: Of the topics of tables.
        topic: The topic of the configuration.
        name: Of the table, as text what people write.
        path: Where it stands.
    """
    return named(str(name), template, {"topic": topic, **path.labels})


def log_partition(name: object) -> str:
    """The source partition of a table's changes in the log."""
    return f"table {name}"


def snapshot_partition(name: object) -> str:
    """The source partition of the rows that were there before the log."""
    return f"snapshot {name}"


@dataclass(frozen=True, slots=True)
class Making(Generic[N]):
    """What is the same for all tables.

    Attributes:
        form: Of the records.
        connector: What the kind of database is called in records: "mysql".
        server: What the server is called in them.
        path: Where a table stands.
        source: What their field source has besides what all databases have.
        topic: The topic of the configuration.
        template: Of the topics of tables.
        columnar: See TableChanges.
        positions: Where each partition begins.
        keys: Of records.
        masks: Of columns.
        topics: Those of the tables so far.
    """

    form: ChangeForm
    connector: str
    server: str
    path: Callable[[N], Path]
    source: Schema
    topic: str
    template: str
    columnar: bool
    positions: Mapping[str, Offset]
    keys: MessageKeys = field(default_factory=MessageKeys)
    masks: ColumnMasks = field(default_factory=ColumnMasks)
    topics: Topics = field(default_factory=Topics)

    def take(self, tables: list[N]) -> list[N]:
        """The same tables, which are there or new, once their topics were looked at.

        Raises:
            PermanentError: one is that of two tables, which it was to tell apart.
        """
        for name in tables:
            self.topics.checked(named_of(self.template, self.topic, name, self.path(name)))
        return tables

    def changes(self, table: CapturedTable[N], partition: str, *, snapshot: str = "true") -> TableChanges:
        """Gathers changes of a table in a source partition; snapshot is what source.snapshot says of rows that are read.

        Raises:
            PermanentError: the table lacks a column of the key that its records are to have, its columns can't be masked, or its
                topic is that of another table.
        """
        name, columns = table.name, table.schema
        own = self.keys.checked(str(name), [column.name for column in columns.fields])
        key = own or tuple(table.key)
        return TableChanges(
            self.form,
            Origin(self.connector, self.server, *self.path(name)),
            columns,
            key,
            self.source,
            partition=partition,
            topic=self.topics.checked(named_of(self.template, self.topic, name, self.path(name))),
            behind=self.positions.get(partition, ()),
            columnar=self.columnar,
            snapshot=snapshot,
            masks=self.masks.on(str(name), columns, key),
            unfit=self.masks.unfit.on(str(name), columns),
            nullable_key=bool(own),
        )

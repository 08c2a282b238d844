"""How the changes of tables become records, for snapshots and the log alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectors.mysql_cdc_source.tables import Name, Table
from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys, Origin, TableChanges
from rocketconnect_sdk.changes.topics import Named, Topics, named
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import STRING, Schema, Type, struct

SOURCE = struct(
    [
        ("file", STRING),
        ("pos", Schema(Type.INT64)),
        ("row", Schema(Type.INT64)),
        ("gtid", Schema(Type.STRING, optional=True)),
        ("server_id", Schema(Type.INT64)),
    ]
)
"""What the field source has besides what all databases have: pos is where the event begins, row the number of the row in it."""
LONGEST_TOPIC = 127


def named_of(template: str, topic: str, name: Name) -> Named:
    """A table and its topic."""
    return named(str(name), template, {"topic": topic, "database": name.database, "table": name.table})


def log_partition(name: Name) -> str:
    """The source partition of a table's changes in the log."""
    return f"table {name}"


def snapshot_partition(name: Name) -> str:
    """The source partition of the rows that were there before the log."""
    return f"snapshot {name}"


@dataclass(frozen=True, slots=True)
class Making:
    """What is the same for all tables.

    Attributes:
        form: Of the records.
        connector: "mysql" or "mariadb".
        server: What the server is called.
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
    topic: str
    template: str
    columnar: bool
    positions: Mapping[str, Offset]
    keys: MessageKeys = field(default_factory=MessageKeys)
    masks: ColumnMasks = field(default_factory=ColumnMasks)
    topics: Topics = field(default_factory=Topics)

    def take(self, tables: list[Name]) -> list[Name]:
        """The same tables, which are there or new, once their topics were looked at.

        Raises:
            PermanentError: one is that of two tables, which it was to tell apart.
        """
        for name in tables:
            self.topics.checked(named_of(self.template, self.topic, name))
        return tables

    def changes(self, table: Table, partition: str, *, snapshot: str = "true") -> TableChanges:
        """Gathers changes of a table in a source partition; snapshot is what source.snapshot says of rows that are read.

        Raises:
            PermanentError: the table lacks a column of the key that its records are to have, its columns can't be masked, or its
                topic is that of another table.
        """
        name = table.name
        columns = table.schema
        own = self.keys.checked(str(name), [column.name for column in columns.fields])
        key = own or table.key
        return TableChanges(
            self.form,
            Origin(self.connector, self.server, name.database, "", name.table),
            columns,
            key,
            SOURCE,
            partition=partition,
            topic=self.topics.checked(named_of(self.template, self.topic, name)),
            behind=self.positions.get(partition, ()),
            columnar=self.columnar,
            snapshot=snapshot,
            masks=self.masks.on(str(name), columns, key),
            unfit=self.masks.unfit.on(str(name), columns),
            nullable_key=bool(own),
        )

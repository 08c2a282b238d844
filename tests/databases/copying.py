"""One database copied into another one by two connectors."""

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from rocketmq_remoting import Client, NameServersUnavailable
from tests.databases.arena import Arena
from tests.databases.load import Load
from tests.databases.oracle import Difference, compare
from tests.databases.side import DATABASE, Side

SOURCE, SINK = "databases-source", "databases-sink"
_SHOWN = 5


class Copying(Arena):
    """Two databases, of which one becomes the other. See Arena.

    Args:
        folder: For everything that it keeps.
        source: What is copied.
        sink: The copy.

    Attributes:
        sink: As given.
    """

    def __init__(self, folder: Path, source: Side, sink: Side) -> None:
        super().__init__(folder, source, (source.part, sink.part))
        self.sink = sink

    @property
    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Arena."""
        dead = {
            "errors.tolerance": "all",
            "errors.log.enable": "false",
            "key.converter": "json",
            "value.converter": "json",
        }
        source = {
            **dead,
            **self.source.as_source(),
            "topic": DATABASE,
            "table.topic": "${topic}-${table}",
            "errors.deadletterqueue.topic.name": "source-dead",
        }
        sink = {
            **dead,
            **self.sink.as_sink(),
            "connector.class": "jdbc_sink",
            "topics": ",".join(f"{DATABASE}-{table.name}" for table in self.source.tables),
            "table.name.format": "${table}",
            "table.name.allowed": ".*",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "truncate.enabled": "true",
            "auto.create": "true",
            "schema.evolution": "evolve",
            "errors.deadletterqueue.topic.name": "sink-dead",
        }
        return {SOURCE: source, SINK: sink}

    def copy(self) -> None:
        """See Arena. One topic has one queue, in which a truncation is in order with the rows."""
        topic = f"{DATABASE}-{self.source.tables.drafts.name}"

        def is_made() -> bool:
            try:
                client.create_topic(topic, queues=1)
            except NameServersUnavailable:
                return False
            return True

        with Client(self.instance.name_server) as client:
            self.wait("the broker", is_made)
        super().copy()

    def compare(self, load: Load) -> Mapping[str, int]:
        """See Arena. Rows that have no counterpart are dead letters."""
        source, sink = self.source, self.sink
        counts = {table.name: compare(source, sink, table, load.columns(table)) for table in source.tables.equal}
        odd = source.tables.odd.name
        with closing(sink.connect()) as connection:
            found = list(sink.rows(connection, f"SELECT count(*) FROM {odd}")) if sink.has(connection, odd) else [(0,)]
        if found != [(0,)]:
            msg = f"odd: {found} rows came through that have no counterpart"
            raise Difference(msg)
        if missing := load.odd - self._dead_letters():
            msg = f"odd: {len(missing)} of {len(load.odd)} rows are no dead letters: {sorted(missing)[:_SHOWN]}"
            raise Difference(msg)
        return {**counts, "dead letters": len(load.odd)}

    def is_away(self, error: BaseException) -> bool:
        """See Arena."""
        return self.source.is_lost(error) or self.sink.is_lost(error) or self.sink.lacks_column(error)

    def _dead_letters(self) -> set[int]:
        """The ids in the keys of all dead letters."""
        letters = [
            letter for name in (SOURCE, SINK) for letter in self.api.pages(f"/v1/connectors/{name}/deadLetters", "deadLetters")
        ]
        return {int(found[1]) for letter in letters if (found := re.search(r'"id":\s*(\d+)', letter.get("key", "")))}

"""A pipeline: tables of a database, a topic of each, and sinks that all read these topics."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.databases.arena import Arena
from tests.databases.load import Load
from tests.databases.mariadb import MysqlSide
from tests.databases.oracle import Difference, compare_rows, wanted_rows
from tests.databases.side import DATABASE
from tests.databases.tables import Column, Table, compared
from tests.pipelines.sources import copied, topic_of
from tests.pipelines.targets import Target
from tests.pipelines.values import found

_FORMS = {"key.converter": "json", "value.converter": "json"}


class Pipeline(Arena):
    """A database and its targets. No bad record is allowed: it fails its task, and the run. See Arena.

    Args:
        folder: For everything that it keeps.
        source: What is copied.
        targets: The copies.
    """

    def __init__(self, folder: Path, source: MysqlSide, targets: Sequence[Target]) -> None:
        parts = [source.part, *(target.part for target in targets if target.part is not None)]
        super().__init__(folder, source, parts)
        self._copied = copied(source)
        self._targets = targets
        drivers = ("spark-driver",) if any(target.has_driver for target in targets) else ()
        self.victims = ("executor", "native-host", "broker", *drivers)
        self.all_victims = {*self.victims, *(part.name for part in parts)}

    @property
    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Arena."""
        topics = ",".join(map(topic_of, self._copied))
        sinks = {f"{DATABASE}-{target.name}": {**_FORMS, **target.options(), "topics": topics} for target in self._targets}
        return {f"{DATABASE}-source": {**_FORMS, **self.source.as_source()}, **sinks}

    def compare(self, load: Load) -> Mapping[str, int]:
        """See Arena."""
        counts: dict[str, int] = {}
        different: list[str] = []
        for table in self._copied:
            held = {**table.key, **load.columns(table)}
            with closing(self.source.connect()) as connection:
                wanted = [*wanted_rows(self.source, connection, table, held)]
            for target in self._targets:
                try:
                    counts[f"{target.name} {table.name}"] = compare_rows(iter(wanted), found_rows(target, table, held), table, held)
                except Difference as error:
                    different.append(f"{target.name}: {error}")
        if different:
            raise Difference("\n".join(different))
        return counts

    def is_away(self, error: BaseException) -> bool:
        """See Arena."""
        return self.source.is_lost(error) or any(target.is_lost(error) for target in self._targets)


def found_rows(target: Target, table: Table, held: Mapping[str, Column]) -> Iterator[tuple[Any, ...]]:
    """The rows that a target has of a table, in the order of their keys, as they are compared.

    Args:
        target: Has them.
        table: Its name and key.
        held: The columns, with those of the key.

    Raises:
        Difference: there are other columns.
    """
    made = []
    for row in target.rows(table):
        if more := row.keys() - held.keys():
            msg = f"{table.name}: columns that nobody has written: {sorted(more)}"
            raise Difference(msg)
        made.append(tuple(compared(row.get(name), found(column)) for name, column in held.items()))
    return iter(sorted(made, key=lambda each: each[: len(table.key)]))

"""Where pipelines end: the configuration of a sink, and the rows that it has made, read without anything of the product."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pyarrow.parquet as pq
import pymysql
import redis

from tests.databases.oracle import Difference
from tests.databases.part import Part
from tests.databases.tables import Table
from tests.pipelines.sources import Ocean, topic_of
from tests.servers.redis import Redis
from tests.servers.search.real import OpenSearch

Row = Mapping[str, Any]
"""By column; what is null may be left out."""


class Target(ABC):
    """Has each table of a source.

    Class attributes:
        name: For people.
        has_driver: The sink runs in a Spark driver.

    Attributes:
        part: Its server, which keeps what it has when it is killed; None: it has none.
    """

    name: ClassVar[str]
    has_driver: ClassVar[bool] = False
    part: Part | None = None

    @abstractmethod
    def options(self) -> Mapping[str, str]:
        """Of the sink, without its topics and converters."""

    @abstractmethod
    def rows(self, table: Table) -> Iterable[Row]:
        """All rows that it has of a table, in no order; none as long as it knows no such table.

        Raises:
            Difference: they can't be read as whole rows just now.
        """

    @abstractmethod
    def is_lost(self, error: BaseException) -> bool:
        """Whether its server was away."""


class Search(Target):
    """An index of OpenSearch for each table."""

    name = "opensearch"

    def __init__(self) -> None:
        self._server = OpenSearch()
        self.part = Part.of(self.name, self._server)

    def options(self) -> Mapping[str, str]:
        """See Target."""
        return {
            "connector.class": "elasticsearch_sink",
            "url": self._server.url,
            "index.create": "schema",
            "index.settings": json.dumps({"number_of_replicas": 0}),
            "delete.enabled": "true",
        }

    def rows(self, table: Table) -> Iterator[Row]:
        """See Target."""
        index = topic_of(table)
        with httpx.Client(base_url=self._server.url, timeout=60) as client:
            if client.head(f"/{index}").status_code == httpx.codes.NOT_FOUND:
                return
            client.post(f"/{index}/_refresh").raise_for_status()
            page = self._page(client, f"/{index}/_search?scroll=5m", {"size": 2_000, "sort": ["_doc"]})
            while page["hits"]["hits"]:
                yield from (hit["_source"] for hit in page["hits"]["hits"])
                page = self._page(client, "/_search/scroll", {"scroll": "5m", "scroll_id": page["_scroll_id"]})
            client.request("DELETE", "/_search/scroll", json={"scroll_id": page["_scroll_id"]}).raise_for_status()

    def _page(self, client: httpx.Client, path: str, body: Mapping[str, Any]) -> Any:
        answer = client.post(path, json=body).raise_for_status()
        page = json.loads(answer.content, parse_float=Decimal)
        if page["timed_out"] or page["_shards"]["failed"] or not page["_shards"]["successful"]:
            msg = f"{self.name}: not all shards answer: {page['_shards']}"
            raise Difference(msg)
        return page

    def is_lost(self, error: BaseException) -> bool:
        """See Target."""
        return isinstance(error, httpx.HTTPError)


class Cache(Target):
    """A document in a key of Redis for each row."""

    name = "redis"

    def __init__(self) -> None:
        self._server = Redis()
        self.part = Part.of(self.name, self._server)

    def options(self) -> Mapping[str, str]:
        """See Target."""
        return {"connector.class": "redis_sink", "url": self._server.url, "delete.enabled": "true"}

    def rows(self, table: Table) -> Iterable[Row]:
        """See Target."""
        with closing(self._server.client) as client:
            keys = {*client.scan_iter(match=f"{topic_of(table)}:*", count=1_000)}
            # One that has gone meanwhile is null.
            found = client.mget(*keys) if keys else []
        return [json.loads(text, parse_float=Decimal) for text in found if text is not None]

    def is_lost(self, error: BaseException) -> bool:
        """See Target."""
        return isinstance(error, redis.RedisError)


class Lake(Target):
    """A table of Hudi for each table, by two tasks.

    Args:
        folder: For the tables.
    """

    name = "hudi"
    has_driver = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "lake"
        self._folder.mkdir()

    def options(self) -> Mapping[str, str]:
        """See Target."""
        return {
            "connector.class": "hudi_sink",
            "path": f"{self._folder}/${{topic}}",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "flush.interval": "5s",
            "max.tasks": "2",
        }

    def rows(self, table: Table) -> Iterable[Row]:
        """See Target."""
        try:
            return [row for file in _newest_files(self._folder / topic_of(table)) for row in _rows_of(file)]
        except FileNotFoundError as error:
            # Old files go as the table is written.
            msg = f"{self.name}: {table.name} changes while it is read: {error}"
            raise Difference(msg) from error

    def is_lost(self, error: BaseException) -> bool:
        """See Target."""
        del error
        return False


def _newest_files(table: Path) -> Iterable[Path]:
    """Of each group of files the newest one that was committed: what a table of Hudi has whose rows are copied on write.

    Hudi's reader for Rust knows no times without a zone.
    """
    timeline = table / ".hoodie" / "timeline"
    begun = {file.name.partition(".")[0] for file in timeline.glob("*.requested")}
    committed = {file.name.partition("_")[0] for file in timeline.glob("*_*commit")}
    newest: dict[str, tuple[str, Path]] = {}
    for file in table.glob("*.parquet"):
        group, _, instant = file.stem.split("_")
        # What has left the timeline was committed.
        if instant not in begun - committed:
            newest[group] = max(newest.get(group, ("", file)), (instant, file))
    return [file for _, file in newest.values()]


def _rows_of(file: Path) -> Iterable[Row]:
    """Without Hudi's own columns."""
    rows = pq.read_table(file).to_pylist()
    return [{name: value for name, value in row.items() if not name.startswith("_hoodie_")} for row in rows]


class OceanTarget(Target):
    """A table of OceanBase's kernel for each table."""

    name = Ocean.name

    def __init__(self) -> None:
        self._side = Ocean()
        self.part = self._side.part

    def options(self) -> Mapping[str, str]:
        """See Target."""
        return {
            "connector.class": "jdbc_sink",
            **self._side.as_sink(),
            "table.name.format": "${table}",
            "table.name.allowed": ".*",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "auto.create": "true",
        }

    def rows(self, table: Table) -> Iterable[Row]:
        """See Target."""
        with closing(self._side.connect()) as connection:
            if not self._side.has(connection, table.name):
                return ()
            with closing(connection.cursor(pymysql.cursors.DictCursor)) as cursor:
                cursor.execute(f"SELECT * FROM {table.name}")
                return [*cursor.fetchall()]

    def is_lost(self, error: BaseException) -> bool:
        """See Target."""
        return self._side.is_lost(error)

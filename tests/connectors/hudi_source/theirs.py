"""Tables of Hudi that another program writes: Hudi's own client for Java, on settings of its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketconnect_sdk.conformance.sink_case import spark_session
from tests.connectors.hudi_sink.tables import Hudi

_COLUMNS = {"id": "long", "text": "string", "day": "long"}
_CLUSTERING = "org.apache.hudi.client.clustering"
_KEYS = "org.apache.hudi.keygen."


class Theirs:
    """A table whose rows have an id, its key, a text and a day.

    Args:
        root: The directory of the table.
        version: Of its form.
        kind: COPY_ON_WRITE or MERGE_ON_READ.
        partitioned: By the day.
        settings: Of the client, without "hoodie." before them.
    """

    def __init__(
        self,
        root: Path,
        *,
        version: int = 9,
        kind: str = "COPY_ON_WRITE",
        partitioned: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        gateway: Any = spark_session(Hudi.settings()).sparkContext._gateway  # the way to Java
        self._jvm = gateway.jvm
        self.root = root
        self._partitioned = partitioned
        self.columns = dict(_COLUMNS)
        hudi = self._jvm.org.apache.hudi
        conf = self._jvm.org.apache.hadoop.conf.Configuration()
        # This process may keep the file system of hudi_sink by now, which is for its tables alone.
        conf.setBoolean("fs.hoodie-file.impl.disable.cache", True)
        self._storage = hudi.storage.hadoop.HadoopStorageConfiguration(conf)
        builder = hudi.common.table.HoodieTableMetaClient.newTableBuilder().setTableType(kind).setTableName("rows")
        builder = builder.setTableVersion(version).setTableCreateSchema(self._avro()).setRecordKeyFields("id")
        builder = builder.setKeyGeneratorClassProp(f"{_KEYS}{'Simple' if partitioned else 'Nonpartitioned'}KeyGenerator")
        builder = builder.setPayloadClassName("org.apache.hudi.common.model.OverwriteWithLatestAvroPayload")
        if partitioned:
            builder = builder.setPartitionFields("day").setHiveStylePartitioningEnable(True)
        builder.initTable(self._storage, f"file://{root}")
        self._options = {
            "hoodie.metadata.enable": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "DIRECT",
            "hoodie.index.type": "BLOOM",
            "hoodie.allow.empty.commit": "true",
            "hoodie.time.generator.max_expected_clock_skew_ms": "1",
            "hoodie.write.auto.upgrade": "false",
            "hoodie.write.table.version": str(version),
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "day" if partitioned else "",
            **{f"hoodie.{key}": value for key, value in (settings or {}).items()},
        }

    def insert(self, *rows: tuple[Any, ...]) -> str:
        """Appends rows, in a commit. Returns its instant, as the others do."""
        return self._write("insert", rows)

    def upsert(self, *rows: tuple[Any, ...]) -> str:
        return self._write("upsert", rows)

    def delete(self, *rows: tuple[Any, ...]) -> str:
        """Of the rows the key and the partition count."""
        client, keys = self._client(), self._jvm.java.util.ArrayList()
        for row in rows:
            keys.add(self._key(row))
        instant = str(client.startCommit("commit"))
        return self._end(client, instant, client.delete(keys, instant))

    def begin(self, *rows: tuple[Any, ...]) -> Callable[[], object]:
        """Writes the files of a commit. Returns what ends it."""
        client = self._client()
        instant = str(client.startCommit("commit"))
        written = client.insert(self._records(rows), instant)
        return lambda: self._end(client, instant, written)

    def roll_back_what_failed(self) -> None:
        """Removes what writers have left that did not come to their end."""
        client = self._client({"hoodie.cleaner.policy.failed.writes": "EAGER"})
        client.rollbackFailedWrites(client.createMetaClient(True))
        client.close()

    def overwrite(self, *rows: tuple[Any, ...]) -> str:
        """All other rows go."""
        return self._replace("insertOverwriteTable", self._records(rows))

    def cluster(self) -> None:
        """Lays all rows out anew."""
        more = {
            "hoodie.clustering.plan.strategy.class": f"{_CLUSTERING}.plan.strategy.JavaSizeBasedClusteringPlanStrategy",
            "hoodie.clustering.execution.strategy.class": f"{_CLUSTERING}.run.strategy.JavaSortAndSizeExecutionStrategy",
            "hoodie.clustering.plan.strategy.single.group.clustering.enabled": "true",
        }
        client = self._client(more)
        option = self._jvm.org.apache.hudi.common.util.Option
        instant = client.scheduleClustering(option.empty())
        client.cluster(instant.get(), True)
        client.close()

    def take_back(self, instant: str) -> None:
        """Rolls back a commit that was completed."""
        client = self._client()
        assert client.rollback(instant)
        client.close()

    def keep(self) -> None:
        """Makes a savepoint of the newest commit."""
        client = self._client()
        client.savepoint("tests", "")
        client.close()

    def restore(self, instant: str) -> None:
        """Goes back to a savepoint."""
        client = self._client()
        client.restoreToSavepoint(instant)
        client.close()

    def widen(self, name: str) -> None:
        """Later rows have one more column, of whole numbers."""
        self.columns[name] = "long"

    def _write(self, how: str, rows: Sequence[tuple[Any, ...]]) -> str:
        client = self._client()
        instant = str(client.startCommit("commit"))
        return self._end(client, instant, getattr(client, how)(self._records(rows), instant))

    def _end(self, client: Any, instant: str, written: Any) -> str:
        for each in written:
            assert not each.hasErrors(), each.getErrors()
        assert client.commit(instant, written)
        client.close()
        return instant

    def _replace(self, how: str, records: Any) -> str:
        # Rows that are added to a small file would go with it.
        client = self._client({"hoodie.parquet.small.file.limit": "0"})
        instant = str(client.startCommit("replacecommit"))
        hudi = self._jvm.org.apache.hudi
        context = hudi.client.common.HoodieJavaEngineContext(self._storage)
        done = getattr(hudi.table.HoodieJavaTable.create(client.getConfig(), context), how)(context, instant, records)
        option = hudi.common.util.Option
        replaced = done.getPartitionToReplaceFileIds()
        client.commit(instant, done.getWriteStatuses(), option.empty(), "replacecommit", replaced, option.empty(), option.empty())
        client.close()
        return instant

    def _records(self, rows: Sequence[tuple[Any, ...]]) -> Any:
        hudi, avro = self._jvm.org.apache.hudi.common, self._jvm.org.apache.avro
        schema, records = self._schema(), self._jvm.java.util.ArrayList()
        for row in rows:
            held = {name: {kind: value} for (name, kind), value in zip(self.columns.items(), row, strict=True)}
            # A number would come to Java as one of 32 bits.
            text = avro.io.DecoderFactory.get().jsonDecoder(schema, json.dumps(held))
            record = avro.generic.GenericDatumReader(schema).read(None, text)
            payload = hudi.model.OverwriteWithLatestAvroPayload(hudi.util.Option.of(record))
            records.add(hudi.model.HoodieAvroRecord(self._key(row), payload))
        return records

    def _key(self, row: tuple[Any, ...]) -> Any:
        return self._jvm.org.apache.hudi.common.model.HoodieKey(str(row[0]), f"day={row[2]}" if self._partitioned else "")

    def _schema(self) -> Any:
        parser = getattr(self._jvm.org.apache.avro, "Schema$Parser")()
        return parser.parse(self._avro())

    def _avro(self) -> str:
        fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in self.columns.items()]
        return json.dumps({"type": "record", "name": "row", "fields": fields})

    def _client(self, more: Mapping[str, str] | None = None) -> Any:
        hudi = self._jvm.org.apache.hudi
        properties = self._jvm.java.util.Properties()
        for name, value in {**self._options, **(more or {})}.items():
            properties.setProperty(name, value)
        builder = hudi.config.HoodieWriteConfig.newBuilder().withPath(f"file://{self.root}").withSchema(self._avro())
        config = builder.forTable("rows").withParallelism(2, 2).withProps(properties).build()
        return hudi.client.HoodieJavaWriteClient(hudi.client.common.HoodieJavaEngineContext(self._storage), config)

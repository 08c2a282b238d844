"""What iceberg_sink and Spark have written comes back as it was."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.iceberg_source import IcebergSource
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.conformance.source import SourceCase, read_all
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema, Type, decimal, timestamp
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.table import ONE, TWO

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
KINDS = {
    "at": (timestamp(optional=True), datetime(1500, 1, 1, 12, 30, 0, 123456, UTC)),
    "price": (decimal(2, precision=12, optional=True), Decimal("1.25")),
    "tags": (Schema(Type.ARRAY, optional=True, items=Schema(Type.STRING)), ["a", "ü"]),
}


def values(case: SourceCase) -> list[object]:
    """All values, in their order."""
    (found,) = read_all(case)
    return [seen.value for records in found.values() for seen in records]


def test_rows_of_a_topic_come_back_from_the_table_that_the_sink_writes(tmp_path: Path) -> None:
    owner = Iceberg(tmp_path / "lake").owner(partition_by="bucket(4, id)")
    owner.start()
    more: dict[str, Any] = {name: value for name, (_, value) in KINDS.items()}
    wide = replace(
        TWO, fields=(*TWO.fields, *(replace(TWO.fields[0], name=name, schema=kind) for name, (kind, _) in KINDS.items()))
    )
    owner.append(0, 3, schema=ONE)
    owner.append(3, 6, schema=wide, more=7, **more)
    owner.task.close()
    case = SourceCase(IcebergSource(), {"warehouse": str(tmp_path / "lake"), "table": "db.rows"})
    old = [{"id": number, "day": 5, **dict.fromkeys(["more", *more])} for number in range(3)]
    new = [{"id": number, "day": 5, "more": 7, **more} for number in range(3, 6)]
    found = values(case)
    assert sorted(found, key=str) == sorted([*old, *new], key=str)


@pytest.mark.slow
def test_what_spark_compacts_brings_nothing_and_what_it_deletes_is_told(tmp_path: Path) -> None:
    """Some tens of Spark's jobs."""
    owner = Iceberg(tmp_path / "lake").owner()
    owner.start()
    for begin in (0, 3):
        owner.append(begin, begin + 3)
    owner.task.close()
    session = spark_session(Iceberg.settings())
    session.conf.set("spark.sql.catalog.reading", "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set("spark.sql.catalog.reading.type", "hadoop")
    session.conf.set("spark.sql.catalog.reading.warehouse", str(tmp_path / "lake"))
    given = {"warehouse": str(tmp_path / "lake"), "table": "db.rows"}
    first = IcebergSource().log(SourceCase(IcebergSource(), given).parsed)._lineage[0].snapshot_id
    case = SourceCase(IcebergSource(), {**given, "start": str(first)})
    session.sql("CALL reading.system.rewrite_data_files(table => 'db.rows', options => map('rewrite-all', 'true'))")
    assert sorted(value["id"] for value in values(case)) == list(range(6))  # type: ignore[index]
    session.sql("DELETE FROM reading.db.rows WHERE id = 1")
    with pytest.raises(PermanentError, match="removed 1 file"):
        values(case)
    session.sql("ALTER TABLE reading.db.rows SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    session.sql("DELETE FROM reading.db.rows WHERE id = 2")
    with pytest.raises(PermanentError, match="delete files, which are not read"):
        values(SourceCase(IcebergSource(), given))

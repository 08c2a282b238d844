"""What delta_sink and Spark have written comes back as it was."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.delta_sink import DeltaSink
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct, timestamp
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.connectors.delta_sink.tables import Delta
from tests.connectors.delta_source.tables import Reader, ids, rebuilt

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
ROW = struct(
    [
        ("id", Schema(Type.INT64)),
        ("text", Schema(Type.STRING, optional=True)),
        ("at", timestamp(optional=True)),
        ("day", Schema(Type.DATE, optional=True)),
        ("price", decimal(2, precision=12, optional=True)),
        ("blob", Schema(Type.BYTES, optional=True)),
        ("tags", Schema(Type.ARRAY, optional=True, items=STRING)),
    ],
    name="row",
)


def row(number: int) -> dict[str, object]:
    return {
        "id": number,
        "text": f"ü {number}",
        "at": datetime(1500 + number, 1, 1, 12, 30, 0, 123456, UTC),
        "day": date(1 + number, 2, 3),
        "price": Decimal(number) / 4,
        "blob": bytes([number]),
        "tags": ["a", str(number)],
    }


@pytest.mark.slow
def test_rows_of_a_topic_come_back_from_the_table_that_the_sink_writes(tmp_path: Path) -> None:
    path, session = tmp_path / "table", spark_session(Delta.settings())
    config = parse(DeltaSink.options, {"path": str(path)})
    sink = DeltaSink().open(config, {}, TaskContext(connector_uid="uid", generation=1, epoch=1, spark=session))
    sink.start()
    wanted: list[dict[str, object]] = []
    for begin in (0, 5):
        queue = "orders/broker-a/0"
        commit = SinkCommit("uid", 0, 1, {queue: QueuePosition(begin)}, {queue: QueuePosition(begin + 5)}, 5, "token")
        sink.columns_for(ROW)
        rows = [row(number) for number in range(begin, begin + 5)]
        sink.write(session.createDataFrame(pa.table({"value": to_array(rows, ROW)})), commit)
        wanted += rows
    reader = Reader(path, start="0")
    assert reader.run() == wanted
    assert sorted(Reader(path).run(), key=str) == sorted(wanted, key=str)


@pytest.mark.slow
def test_what_spark_deletes_updates_and_merges_is_told_or_comes_as_changes(tmp_path: Path) -> None:
    """Some tens of Spark's jobs."""
    path, session = tmp_path / "table", spark_session(Delta.settings())
    name = f"delta.`{path}`"
    session.sql(f"CREATE TABLE {name} (id BIGINT, text STRING) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    session.sql(f"INSERT INTO {name} SELECT id, concat('row ', id) FROM range(10)")
    rows = Reader(path, start="0")
    assert ids(rows.run()) == list(range(10))
    changes = Reader(path, start="0", mode="changes", key_columns="id")
    session.sql(f"UPDATE {name} SET text = 'new' WHERE id % 2 = 0")
    session.sql(
        f"MERGE INTO {name} AS t USING (SELECT id, 'merged' AS text FROM range(8, 13)) AS s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    wanted = {row["id"]: row.asDict() for row in session.table(name).collect()}
    assert rebuilt(changes.run()) == wanted
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    session.sql(f"DELETE FROM {name} WHERE id = 3")
    # Spark keeps no changes for a deletion that makes a vector.
    with pytest.raises(PermanentError, match="deletion vector"):
        changes.run()
    with pytest.raises(PermanentError, match="UPDATE removed"):
        rows.run()
    with pytest.raises(PermanentError, match="deletion vector"):
        Reader(path).run()
    session.sql(f"REORG TABLE {name} APPLY (PURGE)")
    assert ids(Reader(path).run()) == sorted(wanted.keys() - {3})

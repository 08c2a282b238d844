"""With files on a server that speaks S3."""

from typing import Any

import pytest

from connectors.hive.metastore import Metastore
from connectors.hive_sink import HiveSink
from rocketconnect_sdk.conformance.runs import QUEUE, ROW
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.record import SinkBatch
from tests.connectors.hive_sink.table import Table, location_of
from tests.connectors.object_store_sink.prefix import row, table_of
from tests.servers.objects.s3 import S3

pytestmark = pytest.mark.spark
PARTITIONED = {"partition.path": "day={yyyy}-{MM}-{dd}"}
_DAY_MS = 86_400_000


def in_bucket(server: S3, bucket: str) -> dict[str, str]:
    return {"url": f"s3://{bucket}/warehouse/orders", **server.options(), **PARTITIONED}


def batch(begin: int, until: int) -> SinkBatch:
    offsets = range(begin, until)
    values = [row(0, offset) for offset in offsets]
    return SinkBatch(QUEUE, "orders", values, offsets, timestamps_ms=[_DAY_MS * offset for offset in offsets], schema=ROW)


def rows(table: Table, server: S3) -> list[dict[str, Any]]:
    """Those of the partitions that the metastore knows, where it says that they are."""
    places = sorted(location_of(each) for each in table.partitions())
    assert all(each.startswith("s3a://") for each in places)
    return [found for place in places for found in table_of(server, place.removeprefix("s3a://"))]


def test_files_go_into_the_bucket_and_partitions_into_the_metastore(table: Table, server: S3, bucket: str) -> None:
    options = in_bucket(server, bucket)
    run = table.opened(options).start()
    run.write(2, batch=batch(0, 2))
    run.write(3, batch=batch(2, 3))
    assert table.partition_names() == ["day=1970-01-01", "day=1970-01-02", "day=1970-01-03"]
    assert [found["offset"] for found in rows(table, server)] == [0, 1, 2]
    assert table.found().location == f"s3a://{bucket}/warehouse/orders"
    assert [each for each in HiveSink().check(table.config(options)) if not each.is_warning] == []


def test_the_next_owner_tells_the_metastore_what_the_one_before_could_not(
    table: Table, server: S3, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = in_bucket(server, bucket)
    run = table.opened(options).start()
    with monkeypatch.context() as patched:

        def away(*_: object) -> None:
            msg = "away"
            raise SystemAway(msg)

        patched.setattr(Metastore, "add_partitions", away)
        with pytest.raises(SystemAway):
            run.write(2, batch=batch(0, 2))
    assert rows(table, server) == []
    positions = table.opened(options, epoch=2).start().positions
    assert positions[QUEUE].until == len(rows(table, server)) == 2

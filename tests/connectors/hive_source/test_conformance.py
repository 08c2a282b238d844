from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from connectors.hive_source import HiveSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.runs import QUEUE, ROW
from rocketconnect_sdk.conformance.source import read_all
from rocketconnect_sdk.record import SinkBatch
from tests.connectors.hive_sink.table import Table
from tests.connectors.hive_source.tables import HandMade, options
from tests.connectors.object_store_sink.prefix import row
from tests.connectors.object_store_source.objects import packed
from tests.servers.objects.s3 import S3

pytestmark = pytest.mark.spark
_DAY_MS = 86_400_000


class TestPartitionsOfHiveSink(SourceSuite):
    @pytest.fixture
    def case(self, table: Table) -> SourceCase:
        run = table.opened({"partition.path": "at={yyyy}-{MM}-{dd}/queue={field:queue}"}).start()
        for begin in range(0, 60, 20):
            offsets = range(begin, begin + 20)
            times = [_DAY_MS * (offset % 3) for offset in offsets]
            values = [row(0, offset) for offset in offsets]
            run.write(begin + 20, batch=SinkBatch(QUEUE, "orders", values, offsets, timestamps_ms=times, schema=ROW))
        expected = [
            {"offset": offset, "text": row(0, offset)["text"], "at": f"1970-01-0{offset % 3 + 1}", "queue": 0}
            for offset in range(60)
        ]
        return SourceCase(HiveSource(), options(table, follow="false", key_columns="offset"), expected)

    def test_keys_are_the_columns_that_are_named(self, case: SourceCase) -> None:
        (found,) = read_all(case)
        seen = [each for records in found.values() for each in records]
        assert [each.key for each in seen] == [{"offset": each.value["offset"]} for each in seen]  # type: ignore[index]


@pytest.mark.slow
class TestNoPartitions(SourceSuite):
    @pytest.fixture
    def case(self, table: Table) -> SourceCase:
        made = HandMade(table, partitions=())
        for number in range(3):
            made.write("", f"{number}.parquet", *range(number * 20, number * 20 + 20))
        return SourceCase(HiveSource(), options(table, follow="false"), [{"id": number} for number in range(60)])


@pytest.mark.slow
class TestPartitionsOfBucket(SourceSuite):
    @pytest.fixture
    def case(self, table: Table, server: S3, bucket: str) -> SourceCase:
        columns = [("id", "bigint"), ("name", "string"), ("at", "timestamp")]
        made = HandMade(table, columns, [("land", "string"), ("day", "date")], f"s3a://{bucket}/warehouse/shop")
        expected = []
        for number, land in enumerate(["ch", "a/b", "50%"]):
            part = made.part(land, "2026-07-01")
            rows = [
                {"id": number * 20 + each, "name": f"ü {each}", "at": datetime(2026, 7, 1, tzinfo=ZoneInfo("UTC"))}
                for each in range(20)
            ]
            server.put(bucket, f"warehouse/shop/{part}/000000_0", packed(rows))
            expected += [{**each, "land": land, "day": date(2026, 7, 1)} for each in rows]
        return SourceCase(HiveSource(), server.options() | options(table, follow="false"), expected)

import gzip
import json
from pathlib import Path

import pytest

from connectors.object_store_source import ObjectStoreSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.connectors.object_store_source.objects import packed, rows
from tests.servers.objects.s3 import S3
from tests.suites import slow_but


class TestParquetOfBucket(SourceSuite):
    @pytest.fixture
    def case(self, server: S3, bucket: str) -> SourceCase:
        for number in range(4):
            server.put(bucket, f"data/dt={number}/part.parquet", packed(rows(number * 25, number * 25 + 25)))
        server.put(bucket, "data/dt=9/empty.parquet", packed([], None))
        config = server.options() | {"url": f"s3://{bucket}/data", "follow": "false"}
        return SourceCase(ObjectStoreSource(), config, rows(0, 100))


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestJsonLinesOfBucket(SourceSuite):
    @pytest.fixture
    def case(self, server: S3, bucket: str) -> SourceCase:
        for number in range(3):
            lines = b"\n".join(json.dumps(row).encode() for row in rows(number * 20, number * 20 + 20))
            server.put(bucket, f"{number}.jsonl.gz", gzip.compress(lines))
        config = server.options() | {"url": f"s3://{bucket}", "format": "jsonlines", "follow": "false", "key.field": "id"}
        return SourceCase(ObjectStoreSource(), config, rows(0, 60))


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestCsvOfFolder(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        (tmp_path / "a").mkdir()
        for number in range(3):
            lines = [f"{row['id']},{row['name'] or ''}\r\n" for row in rows(number * 20, number * 20 + 20)]
            (tmp_path / "a" / f"{number}.csv").write_text(f"id,name\r\n{''.join(lines)}")
        expected = [{"id": row["id"], "name": row["name"] or ""} for row in rows(0, 60)]
        config = {"url": f"file://{tmp_path}", "format": "csv", "columns": "id:int32", "follow": "false"}
        return SourceCase(ObjectStoreSource(), config, expected)


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestTextOfFolder(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        (tmp_path / "a.txt").write_text("".join(f"line {number} ü\n" for number in range(50)))
        (tmp_path / "_hidden.txt").write_text("no\n")
        config = {"url": f"file://{tmp_path}", "format": "text", "follow": "false"}
        return SourceCase(ObjectStoreSource(), config, [f"line {number} ü" for number in range(50)])

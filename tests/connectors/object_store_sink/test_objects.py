"""What is in the objects, as others read it."""

import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pytest
from pyarrow import orc, parquet

from connectors.object_store_sink.layout import Staged
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, decimal, struct, timestamp
from tests.connectors.object_store_sink.prefix import files_in
from tests.connectors.object_store_sink.run import opened, records
from tests.servers.objects.s3 import S3

DAY = 86_400_000
TYPED = struct(
    [
        ("id", Schema(Type.INT64)),
        ("price", decimal(2, precision=10, optional=True)),
        ("at", timestamp(optional=True)),
        ("day", Schema(Type.DATE, optional=True)),
        ("uuid", Schema(Type.UUID, optional=True)),
        ("raw", Schema(Type.BYTES, optional=True)),
        ("tags", Schema(Type.ARRAY, optional=True, items=Schema(Type.STRING, optional=True))),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 2**62,
        "price": Decimal("12345678.90"),
        "at": datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
        "day": date(2026, 1, 2),
        "uuid": UUID(int=7),
        "raw": b"\x00\xff",
        "tags": ["a", None],
    },
    {"id": -1, "price": None, "at": None, "day": None, "uuid": None, "raw": None, "tags": None},
]


def written(folder: Path, batch: SinkBatch, **options: str) -> dict[str, bytes]:
    """By name what a batch becomes."""
    run = opened({"url": f"file://{folder}"} | {name.replace("_", "."): value for name, value in options.items()}).start()
    run.write(batch.offsets[-1] + 1, batch=batch)
    return {name: data for name, data in files_in(folder).items() if not name.startswith("_")}


@pytest.mark.parametrize("compression", ["", "zstd", "gzip", "lz4", "none"])
def test_parquet_has_the_types_of_the_records(tmp_path: Path, compression: str) -> None:
    (data,) = written(tmp_path, records(ROWS, schema=TYPED), compression=compression).values()
    assert parquet.read_table(io.BytesIO(data)).to_pylist() == [{**ROWS[0], "uuid": str(UUID(int=7))}, ROWS[1]]
    found = parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0).compression
    assert found == {"": "SNAPPY", "none": "UNCOMPRESSED"}.get(compression, compression.upper())


@pytest.mark.parametrize("compression", ["", "zstd", "lz4", "none"])
def test_orc_has_them_too(tmp_path: Path, compression: str) -> None:
    ((name, data),) = written(tmp_path, records(ROWS, schema=TYPED), format="orc", compression=compression).items()
    assert name.endswith(".orc")
    found = orc.read_table(io.BytesIO(data)).to_pylist()
    assert [row | {"at": row["at"] and row["at"].replace(tzinfo=UTC)} for row in found] == [
        {**ROWS[0], "uuid": str(UUID(int=7))},
        ROWS[1],
    ]


@pytest.mark.parametrize(
    ("compression", "ending", "opened_by"),
    [("", ".jsonl", bytes), ("gzip", ".jsonl.gz", gzip.decompress), ("zstd", ".jsonl.zst", None)],
)
def test_json_lines_are_a_line_for_each_value(
    tmp_path: Path, compression: str, ending: str, opened_by: Callable[[bytes], bytes] | None
) -> None:
    ((name, data),) = written(tmp_path, records(ROWS, schema=TYPED), format="jsonlines", compression=compression).items()
    assert name.endswith(ending)
    text = opened_by(data) if opened_by else pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["id"] for line in lines] == [2**62, -1]
    assert (lines[0]["price"], lines[0]["uuid"], lines[0]["tags"]) == (12345678.90, str(UUID(int=7)), ["a", None])


def test_json_without_a_schema_comes_as_it_is(tmp_path: Path) -> None:
    batch = records(['{"a": 1.50, "b": [ ]}', "plain", None, "[1]"])
    (data,) = written(tmp_path, batch, format="jsonlines").values()
    assert data.splitlines() == [b'{"a": 1.50, "b": [ ]}', b'"plain"', b"null", b"[1]"]


@pytest.mark.parametrize(("compression", "ending"), [("", ".csv"), ("gzip", ".csv.gz")])
def test_csv_is_read_back(tmp_path: Path, compression: str, ending: str) -> None:
    values = [{"id": 1, "text": 'a "b";\nc'}, {"id": 2, "text": None}]
    schema = struct([("id", Schema(Type.INT64)), ("text", Schema(Type.STRING, optional=True))])
    batch = records(values, schema=schema)
    ((name, data),) = written(tmp_path, batch, format="csv", csv_delimiter=";", compression=compression).items()
    assert name.endswith(ending)
    read = gzip.decompress(data) if compression else data
    options = pacsv.ParseOptions(delimiter=";", newlines_in_values=True)
    found = pacsv.read_csv(io.BytesIO(read), parse_options=options, convert_options=pacsv.ConvertOptions(strings_can_be_null=True))
    assert found.to_pylist() == values


def test_csv_has_no_header_where_none_is_wanted(tmp_path: Path) -> None:
    schema = struct([("id", Schema(Type.INT64))])
    (data,) = written(tmp_path, records([{"id": 1}], schema=schema), format="csv", csv_header="false").values()
    assert data == b"1\n"


def test_columns_make_rows_of_json_and_leave_out_what_is_none(tmp_path: Path) -> None:
    batch = records(['{"id": 1, "at": "2026-01-02T03:04:05Z", "more": true}', '{"id": 2}'], schema=STRING)
    (data,) = written(tmp_path, batch, columns="id:int32,at:timestamp").values()
    found = parquet.read_table(io.BytesIO(data))
    assert found.to_pylist() == [{"id": 1, "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}, {"id": 2, "at": None}]
    assert found.schema.field("id").type == pa.int32()


def test_a_record_without_a_value_is_a_row_of_nulls(tmp_path: Path) -> None:
    schema = struct([("id", Schema(Type.INT64))], optional=True)
    (data,) = written(tmp_path, records([{"id": 1}, None], schema=schema)).values()
    assert parquet.read_table(io.BytesIO(data)).to_pylist() == [{"id": 1}, {"id": None}]


def test_values_that_are_no_rows_are_the_column_value(tmp_path: Path) -> None:
    (data,) = written(tmp_path, records([b"\x00", b"\xff"], schema=BYTES)).values()
    assert parquet.read_table(io.BytesIO(data)).to_pylist() == [{"value": b"\x00"}, {"value": b"\xff"}]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_records_that_do_not_fit_are_refused_each_and_the_others_are_written(tmp_path: Path, form: str) -> None:
    run = opened({"url": f"file://{tmp_path}", "columns": "id:int8,country", "partition.path": "c={field:country}", "format": form})
    run.start()
    values = ['{"id": 1, "country": "DE"}', '{"id": 300, "country": "DE"}', "no JSON", '{"id": 2, "country": "' + "x" * 300 + '"}']
    with pytest.raises(RecordRefused) as refused:
        run.stage(records([*values, '{"id": 3, "country": "CH"}'], schema=STRING))
    assert list(refused.value.refused) == [1, 2, 3]
    assert "not JSON" in refused.value.refused[2]
    assert "more than 200 characters" in refused.value.refused[3]
    staged: list[Staged] = refused.value.receipt  # type: ignore[assignment]
    assert [(each.folder, each.first) for each in staged] == [("c=DE", 0), ("c=CH", 4)]
    run.task.commit([refused.value.receipt], run.commit_of(5))
    found = pads.dataset(tmp_path, format=form, partitioning="hive").to_table(columns=["id", "c"]).to_pylist()
    assert sorted((row["id"], row["c"]) for row in found) == [(1, "DE"), (3, "CH")]


def test_a_batch_of_nothing_but_bad_records_stores_where_it_ends(tmp_path: Path) -> None:
    run = opened({"url": f"file://{tmp_path}", "columns": "id:int8"}).start()
    with pytest.raises(RecordRefused) as refused:
        run.stage(records(["no", "none"], schema=STRING))
    run.task.commit([refused.value.receipt], run.commit_of(2))
    assert opened({"url": f"file://{tmp_path}"}, epoch=2).start().positions[QUEUE].until == 2


def test_partitions_of_time_and_fields_are_what_hive_readers_look_for(server: S3, bucket: str) -> None:
    options = {"url": f"s3://{bucket}/lake", "partition.path": "{topic}/country={field:country}/dt={yyyy}-{MM}-{dd}"}
    run = opened(server.options() | options).start()
    schema = struct([("id", Schema(Type.INT64)), ("country", Schema(Type.STRING, optional=True))])
    values = [{"id": number, "country": ["DE", "CH/VD", None][number % 3]} for number in range(30)]
    run.write(30, batch=records(values, times=[number // 10 * DAY for number in range(30)], schema=schema))
    assert len([key for key in server.keys(bucket) if "/orders/" in key]) == 9
    table = pads.dataset(f"{bucket}/lake/orders", filesystem=server.files(), format="parquet", partitioning="hive").to_table()
    found = {row["id"]: row for row in table.to_pylist()}
    assert sorted(found) == list(range(30))
    assert [found[number]["dt"] for number in (0, 10, 29)] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    day = pads.field("dt") == "1970-01-02"
    some = pads.dataset(f"{bucket}/lake/orders", filesystem=server.files(), partitioning="hive").to_table(filter=day)
    assert sorted(some["id"].to_pylist()) == list(range(10, 20))


def test_duckdb_and_spark_s_patterns_see_each_row_once(tmp_path: Path) -> None:
    options = {"url": f"file://{tmp_path}", "partition.path": "{topic}/dt={yyyy}-{MM}-{dd}"}
    run = opened(options).start()
    schema = struct([("id", Schema(Type.INT64))])
    run.write(20, batch=records([{"id": number} for number in range(20)], times=[0] * 10 + [DAY] * 10, schema=schema))
    run.stage(SinkBatch(QUEUE, "orders", [{"id": 99}], [20], timestamps_ms=[0], schema=schema))
    with duckdb.connect() as database:
        query = f"SELECT count(*), count(DISTINCT id), max(id) FROM read_parquet('{tmp_path}/**/*.parquet')"
        found = database.execute(query).fetchall()
    assert found == [(20, 20, 19)]

import gzip
import json
import random
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.object_store_source import ObjectStoreSource
from connectors.object_store_source.listing import Bucket, Found, is_data
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.permissions.roots import READ_ROOTS
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, Rejected
from rocketconnect_sdk.source import Edge
from tests.connectors.object_store_source.objects import opened, packed, read, rows
from tests.servers.objects.s3 import S3, SECRET


def options(server: S3, bucket: str, **more: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return server.options() | {"url": f"s3://{bucket}/data", "discover.interval": "100ms"} | given


def test_new_objects_are_found_and_those_that_are_done_are_not_read_again(server: S3, bucket: str) -> None:
    server.put(bucket, "data/b", packed(rows(0, 10)))
    positions: dict[str, Position] = {}
    task = opened(options(server, bucket))
    task.start(positions)
    assert read(task, positions) == rows(0, 10)
    server.put(bucket, "data/a", packed(rows(10, 20)))
    found: list[object] = []
    while not found:
        found = read(task, positions)
    assert found == rows(10, 20)
    again = opened(options(server, bucket))
    again.start(positions)
    assert read(again, positions) == []
    assert sorted(position.offset for position in positions.values()) == [(10, 1), (10, 1)]


def test_what_takes_the_place_of_an_object_is_another_one(server: S3, bucket: str) -> None:
    positions: dict[str, Position] = {}
    for begin in (0, 10):
        server.put(bucket, "data/a", packed(rows(begin, begin + 10)))
        task = opened(options(server, bucket, follow="false"))
        task.start(positions)
        assert read(task, positions) == rows(begin, begin + 10)
        assert task.finished
    assert len(positions) == 2


@pytest.mark.parametrize("form", ["parquet", "jsonlines"])
def test_an_object_that_is_replaced_while_it_is_read_is_told_and_never_mixed(
    server: S3, bucket: str, caplog: pytest.LogCaptureFixture, form: str
) -> None:
    def made(begin: int) -> bytes:
        values = [{"id": begin + number, "text": "x" * 3000} for number in range(4000)]
        if form == "parquet":
            sizes = random.Random(begin)  # so that nothing can be packed
            return packed([{**row, "text": sizes.randbytes(1500).hex()} for row in values], group=500)
        return b"".join(json.dumps(row).encode() + b"\n" for row in values)

    server.put(bucket, "data/a", made(0))
    positions: dict[str, Position] = {}
    task = opened(options(server, bucket, format=form), batch=500)
    task.start(positions)
    (first,) = batches_of(task.poll())
    server.put(bucket, "data/a", made(1_000_000))
    found = [value for value in read(task, positions) if isinstance(value, dict)]
    found += [value for value in _until(task, positions) if isinstance(value, dict)]
    old = [row["id"] for row in [*first.values, *found] if isinstance(row, dict) and row["id"] < 1_000_000]
    new = [row["id"] for row in found if row["id"] >= 1_000_000]
    assert old == list(range(len(old)))
    assert len(old) < 4000
    assert new == list(range(1_000_000, 1_004_000))
    assert "was deleted or replaced while it was read" in caplog.text


def _until(task: Any, positions: dict[str, Position]) -> list[object]:
    """What comes of the next object, if it has not come yet."""
    if len(positions) > 1:
        return []
    found: list[object] = []
    while not found:
        found = read(task, positions)
    return found


def test_an_object_that_is_deleted_before_it_is_read_is_told_and_the_others_come(
    server: S3, bucket: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "abc":
        server.put(bucket, f"data/{name}", packed([{"name": name}]))
    task = opened(options(server, bucket, follow="false"))
    task.start({})
    first = batches_of(task.poll())
    server.delete(bucket, "data/b")
    assert [value for batch in first for value in batch.values] + read(task, {}) == [{"name": "a"}, {"name": "c"}]
    assert "b was deleted or replaced" in caplog.text


def test_a_server_that_is_away_in_the_middle_of_an_object_costs_nothing(
    server: S3, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put(bucket, "data/a", packed(rows(0, 100)))
    server.put(bucket, "data/b", packed(rows(100, 150)))
    positions: dict[str, Position] = {}
    task = opened(options(server, bucket, follow="false"), batch=10)
    task.start(positions)
    found: list[object] = []
    real, calls = Bucket.read, [0]

    def flaky(self: Bucket, which: Found, start: int, length: int) -> bytes:
        calls[0] += 1
        if calls[0] % 4 == 1:
            msg = "away"
            raise SystemAway(msg)
        return real(self, which, start, length)

    monkeypatch.setattr(Bucket, "read", flaky)
    for _ in range(20):
        with suppress(SystemAway):
            read(task, positions, found)
    assert found == rows(0, 150)
    assert calls[0] > 2


def test_tasks_share_the_objects(server: S3, bucket: str) -> None:
    for number in range(20):
        server.put(bucket, f"data/{number}", packed([{"id": number}]))
    found: list[list[object]] = []
    for plan in ObjectStoreSource().plan(parse(ObjectStoreSource.options, options(server, bucket)), 3, {}).tasks:
        task = opened(options(server, bucket), share=plan["share"])
        task.start({})
        found.append(read(task, {}))
    assert all(found)
    assert sorted(row["id"] for share in found for row in share if isinstance(row, dict)) == list(range(20))


@pytest.mark.parametrize("columns", [True, False])
def test_rows_of_parquet_have_their_types(server: S3, bucket: str, *, columns: bool) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("price", pa.decimal128(10, 2)),
            ("at", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
            ("long", pa.large_string()),
            ("raw", pa.binary(2)),
            ("tags", pa.list_(pa.large_string())),
        ]
    )
    value = {
        "id": 2**62,
        "price": Decimal("1.50"),
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "kind": "a",
        "long": "b",
        "raw": b"ab",
        "tags": ["c", None],
    }
    server.put(bucket, "data/a", packed([value, dict.fromkeys(value)], schema))
    task = opened(options(server, bucket, key_field="id"), columns=columns)
    task.start({})
    (batch,) = batches_of(task.poll())
    assert isinstance(batch.values, Column) is columns
    assert list(batch.values) == [value, dict.fromkeys(value)]
    assert batch.keys is not None
    assert list(batch.keys) == [2**62, None]
    assert batch.schema is not None
    assert [field.name for field in batch.schema.fields] == list(value)
    assert (batch.schema.fields[1].schema.precision, batch.schema.fields[1].schema.scale) == (10, 2)


@pytest.mark.parametrize(
    ("data", "more", "reason"),
    [
        (b"no Parquet", {}, "a is no Parquet"),
        (b"no gzip", {"format": "jsonlines", "compression": "gzip"}, "a is no gzip"),
        # Without a time: workers that run side by side have to collect the same names.
        (gzip.compress(b"cut off", mtime=0)[:-4], {"format": "text", "compression": "gzip"}, "a is no gzip, or not whole"),
        (b"a,a\n1,2\n", {"format": "csv"}, "a: the header names a column twice"),
    ],
)
def test_an_object_that_is_not_what_it_should_be_is_named(
    server: S3, bucket: str, data: bytes, more: dict[str, str], reason: str
) -> None:
    server.put(bucket, "data/a", data)
    task = opened(options(server, bucket, **more))
    task.start({})
    with pytest.raises(PermanentError, match=reason):
        read(task, {})


def test_columns_that_no_message_can_hold_and_keys_that_are_none_are_named(server: S3, bucket: str) -> None:
    server.put(bucket, "data/a", packed([{"took": 5}], pa.schema([("took", pa.duration("s"))])))
    for more, reason in (({}, "no message can hold"), ({"key_field": "id"}, "has no column id")):
        task = opened(options(server, bucket, **more))
        task.start({})
        with pytest.raises(PermanentError, match=reason):
            read(task, {})


def test_a_first_line_that_seems_to_have_another_delimiter_is_told_before_anything_is_read(server: S3, bucket: str) -> None:
    def told(**more: str) -> list[tuple[str, str, bool]]:
        config = parse(ObjectStoreSource().options, options(server, bucket, format="csv", **more))
        known = Config({**config, "secret.access.key": SECRET}, config.raw)
        return [(each.key, each.reason, each.is_warning) for each in ObjectStoreSource().check(known)]

    assert told() == []
    server.put(bucket, "data/_hidden", b"id;name\n")
    server.put(bucket, "data/a.csv.gz", gzip.compress(b"id;name;day\n1;x;y\n"))
    assert told() == [("csv.delimiter", "the first line of a.csv.gz has one column, and 2 times `;` in it", True)]
    assert told(csv_delimiter=";") == []


def test_bad_lines_are_told_one_by_one(server: S3, bucket: str) -> None:
    server.put(bucket, "data/a", b'{"id": 1}\nno JSON\n\n{"id": 2}')
    task = opened(options(server, bucket, format="jsonlines"))
    task.start({})
    first, bad, last = read(task, {})
    assert (first, last) == ({"id": 1}, {"id": 2})
    assert isinstance(bad, Rejected)
    # Which object it is, and where in it, its partition and its offset say.
    assert "before 18" not in bad.reason


@pytest.mark.parametrize(
    ("name", "pattern", "is_it"),
    [
        ("a.parquet", "*", True),
        ("dt=1/a.parquet", "*.parquet", True),
        ("dt=1/a.csv", "*.parquet", False),
        ("_rocketconnect/staged/a", "*", False),
        ("dt=1/_SUCCESS", "*", False),
        (".hidden/a", "*", False),
        ("folder/", "*", False),
    ],
)
def test_what_readers_leave_out_is_left_out(name: str, pattern: str, *, is_it: bool) -> None:
    assert is_data(name, pattern) is is_it


def test_partitions_tell_objects_apart_however_long_their_names_are() -> None:
    found = [Found(name, tag, 1).partition for name in ("a", "b" * 1000, "b" * 1001, "c\nd") for tag in ("1", "2")]
    assert len(set(found)) == 8
    assert all(len(each) <= 1024 and each.isprintable() for each in found)
    assert found[0] == "a@1"


def look(given: Mapping[str, str]) -> list[tuple[str, bool]]:
    config = parse(ObjectStoreSource.options, given)
    secret = SECRET if config["secret.access.key"] else None
    found = ObjectStoreSource().check(Config({**config, "secret.access.key": secret}, config.raw))
    return [(each.key, each.is_warning) for each in found]


def test_what_is_wrong_is_told_at_once(server: S3, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(options(server, bucket)) == []
    wrong = {"format": "text", "columns": "id", "key_field": "id", "url": "s3://nowhere"}
    assert look(options(server, bucket, **wrong)) == [("columns", False), ("key.field", False), ("url", False)]
    assert look({"url": "s3://orders"}) == [("access.key.id", False), ("secret.access.key", False)]
    here = {"url": f"file://{tmp_path}"}
    assert look({**here, "region": "eu", "compression": "gzip"}) == [("compression", False), ("region", False)]
    assert look({**here, "format": "csv", "csv.header": "false"}) == [("columns", False)]
    monkeypatch.setenv(READ_ROOTS, str(tmp_path / "allowed"))
    assert look({"url": f"file://{tmp_path}"}) == [("url", False)]
    task = opened({"url": f"file://{tmp_path}"})
    task.start({})
    with pytest.raises(PermanentError, match="is not where this executor lets connectors read"):
        task.poll()


def test_a_folder_that_is_not_there_yet_is_waited_for_and_files_are_read_once(tmp_path: Path) -> None:
    task = opened({"url": f"file://{tmp_path}/in", "format": "text", "discover.interval": "100ms"})
    task.start({})
    with pytest.raises(SystemAway, match="not there yet"):
        task.poll()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("one\ntwo")
    positions: dict[str, Position] = {}
    assert read(task, positions) == ["one", "two"]
    (tmp_path / "in" / "a").write_text("three\n")
    found: list[object] = []
    while not found:
        found = read(task, positions)
    assert found == ["three"]


def test_a_sample_is_of_the_first_object_and_places_are_checked(server: S3, bucket: str) -> None:
    server.put(bucket, "data/a", packed(rows(0, 10)))
    source, config = ObjectStoreSource(), parse(ObjectStoreSource.options, options(server, bucket))
    sample = source.sample(config)
    assert sample is not None
    assert list(sample.values) == rows(0, 10)
    assert source.find_position(config, "a@1", Edge.EARLIEST) == Position((0, 0))
    assert source.find_position(config, "a@1", Edge.LATEST) is None
    assert [bool(list(source.check_position(config, "a@1", Position(offset)))) for offset in ((3, 0), (0, 1), (3,), (0, 2))] == [
        False,
        False,
        True,
        True,
    ]


def test_what_object_store_sink_writes_is_read_without_what_it_keeps_for_itself(server: S3, bucket: str) -> None:
    from tests.connectors.object_store_sink.prefix import row
    from tests.connectors.object_store_sink.run import opened as sinking

    sink = sinking(server.options() | {"url": f"s3://{bucket}/data"}).start()
    sink.write(20)
    sink.stage(sink.batch(30))
    task = opened(options(server, bucket, follow="false"))
    task.start({})
    assert read(task, {}) == [row(0, offset) for offset in range(20)]

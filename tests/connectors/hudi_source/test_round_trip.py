"""What hudi_sink has written comes back as it was."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.hudi_source.timeline import Timeline
from rocketconnect_sdk.schema import Field, Schema, Type, decimal, timestamp
from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.hudi_source.tables import Reader
from tests.connectors.lakes.table import ONE, TWO

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
KINDS: dict[str, tuple[Schema, Any]] = {
    "at": (timestamp(optional=True), datetime(1500, 1, 1, 12, 30, 0, 123456, UTC)),
    "born": (Schema(Type.DATE, optional=True), date(1969, 7, 20)),
    "price": (decimal(2, precision=12, optional=True), Decimal("1.25")),
    "large": (decimal(2, precision=30, optional=True), Decimal("-12345678901234567890.25")),
    "yes": (Schema(Type.BOOLEAN, optional=True), True),
    "small": (Schema(Type.INT32, optional=True), -3),
    "float": (Schema(Type.FLOAT32, optional=True), 0.5),
    "double": (Schema(Type.FLOAT64, optional=True), 1e300),
    "blob": (Schema(Type.BYTES, optional=True), b"\0\xff"),
    "tags": (Schema(Type.ARRAY, optional=True, items=Schema(Type.STRING)), ["a", "ü"]),
    "deep": (Schema(Type.STRUCT, optional=True, fields=(Field("x", Schema(Type.INT64, optional=True)),)), {"x": 5}),
}


def test_rows_of_a_topic_come_back_from_the_table_that_the_sink_writes(tmp_path: Path) -> None:
    path = tmp_path / "table of [ü] *"
    owner = Hudi(path).owner(partition_by="day")
    owner.start()
    owner.append(0, 3, schema=ONE)
    reader, first = Reader(path), Timeline(path).seen().commits[0].requested
    more: dict[str, Any] = {name: value for name, (_, value) in KINDS.items()}
    wide = replace(TWO, fields=(*TWO.fields, *(Field(name, kind) for name, (kind, _) in KINDS.items())))
    owner.append(3, 6, schema=wide, **{**more, "day": 6, "more": 7})
    old = [{"id": number, "day": 5} for number in range(3)]
    new = [{"id": number, "day": 6, "more": 7, **more} for number in range(3, 6)]
    assert Reader(path, start=first).run() == [*old, *new]
    assert reader.run() == [*old, *new]
    nothing = dict.fromkeys(["more", *more])
    for columns in (True, False):
        assert Reader(path).run(columns=columns) == [*({**row, **nothing} for row in old), *new]


@pytest.mark.slow
def test_claims_of_tasks_and_commits_that_are_put_away_are_passed(tmp_path: Path) -> None:
    path = tmp_path / "table"
    keep = "hoodie.keep.min.commits=3,hoodie.keep.max.commits=4,hoodie.cleaner.commits.retained=2"
    settings = {"hudi.settings": f"{keep},hoodie.parquet.small.file.limit=0"}
    owner = Hudi(path).owner(settings)
    owner.start()
    owner.append(0, 2)
    reader = Reader(path, start="latest")
    for begin in range(2, 12, 2):
        # Each owner claims the table, which is a commit without rows.
        owner = Hudi(path).owner(settings, owner=(1, begin))
        owner.start()
        owner.append(begin, begin + 2)
    assert Timeline(path).history().commits
    assert [row["id"] for row in reader.run()] == list(range(2, 12))

import pytest

from connectors.iceberg_sink.partitions import Transform, parse_partitions, partitions_problem


def test_columns_and_transforms_are_parts_of_partitions() -> None:
    text = "region, days(at),bucket(16, id), truncate( 4 ,name) , year(born), months(a b), hours(at)"
    assert parse_partitions(text) == (
        Transform("identity", "region"),
        Transform("day", "at"),
        Transform("bucket", "id", 16),
        Transform("truncate", "name", 4),
        Transform("year", "born"),
        Transform("month", "a b"),
        Transform("hour", "at"),
    )
    assert parse_partitions("") == parse_partitions(" , ") == ()


@pytest.mark.parametrize(
    "text", ["weeks(at)", "bucket(id, 16)", "bucket(0, id)", "days()", "days(at", "days at)", "days(at) x", "(at)"]
)
def test_what_is_no_partition_is_told(text: str) -> None:
    assert "is none of columns, or days(COLUMN)" in (partitions_problem(text) or "")

"""What is told beforehand of a connector."""

import pytest

from services.executor.host.jobs.notes import notes

SPARK = "it runs on Spark, which starts first, for 10 to 60 s on a worker where none of its profile runs yet"
STATUS = "until then `connector status` tells how many records wait"


def told(sink: str, **options: str) -> list[str]:
    given = {"connector.class": sink, "topics": "t", "filename": "/x", "path": "/x", "connection.url": "jdbc:sqlite:/x"}
    keys = {"file_sink": ["filename"], "delta_sink": ["path"], "jdbc_sink": ["connection.url"], "file_lines": ["filename"]}[sink]
    config = {key: given[key] for key in ("connector.class", "topics", *keys)}
    return notes(config | {key.replace("_", "."): value for key, value in options.items()})


def test_a_sink_of_files_tells_when_it_writes_and_that_spark_starts_first() -> None:
    first, second = told("file_sink", format="parquet")
    assert first.startswith("it writes 60 s after the first record of a batch")
    assert first.endswith(f" (flush.interval): {STATUS}")
    assert second == f"{SPARK}: `connector status` says so meanwhile"
    assert told("file_sink", format="parquet", flush_interval="3s") == [second]
    assert told("file_sink", format="csv") == [second]


def test_the_limits_and_the_jars_are_named_where_there_are_some() -> None:
    first, second = told("delta_sink", flush_rows="5000")
    assert first.startswith("it writes 10 s after the first record of a batch, or at 5,000 records")
    assert second.startswith(f"{SPARK}, and fetches Delta Lake ")


def test_a_sink_that_writes_at_once_without_spark_tells_nothing() -> None:
    assert told("file_lines", engine="native") == []
    assert told("jdbc_sink") == []


def test_where_spark_has_no_part_engine_spark_is_told_to_change_nothing() -> None:
    assert told("jdbc_sink", engine="spark") == ["engine=spark changes nothing: jdbc_sink writes without Spark. Leave it out"]


@pytest.mark.parametrize(
    "config",
    [{}, {"connector.class": "nothing"}, {"connector.class": "direct"}, {"connector.class": "file_source"}, {"topics": "t"}],
)
def test_of_what_is_no_sink_or_is_wrong_nothing_is_told(config: dict[str, str]) -> None:
    assert notes(config) == []


def test_of_a_sink_with_a_wrong_option_nothing_is_told() -> None:
    assert told("file_sink", format="nothing") == []

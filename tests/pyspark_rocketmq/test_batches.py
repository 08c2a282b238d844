"""DataFrames to topics and back, through a real broker."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException

from tests.pyspark_rocketmq.conftest import Topic

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

EVERY_TYPE = (
    "id bigint, small tinyint, yes boolean, price decimal(12,3), ratio double, name string, raw binary, day date, at timestamp, "
    "local timestamp_ntz, tags array<string>, more map<string,int>, inner struct<a: int, b: array<double>>"
)
ROW = (
    *(1, -7, True, Decimal("12345.678"), 0.1, "ünï", b"\x00\xff", date(2026, 1, 31)),
    *(datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 1, 31, 12, 0, 0, 5)),  # noqa: DTZ001  # it has no zone
    *(["a", None], {"x": 1}, (3, [0.5])),
)


def rows(count: int) -> str:
    return f"select id, id / 4 as price, concat('n', id) as name from range(0, {count}, 1, 3)"


def test_rows_of_every_type_come_back_as_they_went(topic: Topic) -> None:
    frame = topic.spark.createDataFrame([ROW, (2, *[None] * 12)], EVERY_TYPE)
    topic.write(frame, value__converter="arrow")
    found = topic.read().select("value.*")
    assert [(field.name, field.dataType) for field in found.schema] == [(field.name, field.dataType) for field in frame.schema]
    assert sorted(map(repr, found.collect())) == sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("converter", ["arrow", pytest.param("", marks=pytest.mark.slow)])
def test_each_row_is_there_once_and_those_of_a_partition_are_in_order(topic: Topic, converter: str) -> None:
    frame = topic.spark.sql(rows(25_000))
    topic.write(frame, value__converter=converter)
    found = topic.read(messages__per__partition="9000", columns="" if converter == "arrow" else "id:int64, price:double, name")
    places = found.select("queue", "offset", "row", "value.*").collect()
    assert sorted((row.id, row.price, row.name) for row in places) == [tuple(row) for row in frame.collect()]
    places.sort(key=lambda place: (place.queue, place.offset, place.row or 0))
    for queue in {place.queue for place in places}:
        for third in range(3):
            first, last = 25_000 * third // 3, 25_000 * (third + 1) // 3
            ids = [place.id for place in places if place.queue == queue and first <= place.id < last]
            assert ids == sorted(ids)


def test_rows_without_a_converter_are_json_for_every_consumer(topic: Topic) -> None:
    topic.write(topic.spark.sql("select 1 as id, 'a' as name"))
    (found,) = topic.read().collect()
    assert json.loads(found.value) == {"id": 1, "name": "a"}


def test_keys_headers_and_topics_of_rows_go_with_their_messages(topic: Topic) -> None:
    other = Topic(topic.spark, topic.client, topic.options["name.servers"])
    frame = topic.spark.sql(
        f"select 'one' as value, 'k1' as key, map('a', 'b') as headers, '{other.name}' as topic "
        "union all select 'two', null, null, null"
    )
    topic.write(frame)
    (here,), (there,) = topic.read().collect(), other.read().collect()
    assert (here.value, here.key, here.topic) == ("two", None, topic.name)
    assert (there.value, there.key, there.headers["a"], there.topic) == ("one", "k1", "b", other.name)


@pytest.mark.slow
def test_rows_with_one_key_are_in_one_queue(topic: Topic) -> None:
    topic.write(topic.spark.sql("select cast(id as string) as value, cast(id % 7 as string) as key from range(0, 200, 1, 4)"))
    places = {(row.key, row.queue) for row in topic.read().collect()}
    assert len(places) == 7
    assert len({queue for _, queue in places}) == 2


@pytest.mark.slow
def test_a_batch_that_is_written_again_counts_once(topic: Topic) -> None:
    frame = topic.spark.sql(rows(3_000))
    for number in ("1", "1", "2"):
        topic.write(frame, value__converter="arrow", producer__name="daily", batch__number=number)
    assert topic.stored() == 9  # of each partition one message, in which its rows are
    found = [row.id for row in topic.read(messages__per__partition="1").select("value.id").collect()]
    assert sorted(found) == sorted([*range(3_000), *range(3_000)])
    assert topic.read(look__back="0", messages__per__partition="1").count() == 9_000


@pytest.mark.slow
def test_a_job_that_fails_in_the_midst_and_is_run_again_counts_once(topic: Topic) -> None:
    frame = topic.spark.sql("select id, if(id = {bad}, raise_error('killed'), 'x') as name from range(0, 40000, 1, 2)", bad=-1)
    failing = topic.spark.sql(
        "select id, if(id = {bad}, raise_error('killed'), 'x') as name from range(0, 40000, 1, 2)", bad=39_000
    )
    options = {"producer__name": "nightly", "batch__number": "7"}
    with pytest.raises(PySparkException, match="killed"):
        topic.write(failing, **options)
    # Spark ends the other task of the job a moment later, and what that one sends until then is there twice, too.
    assert topic.stored() < 80_000
    topic.write(frame, **options)
    assert topic.stored() > 40_000
    assert topic.read(messages__per__partition="9000", look__back="50000").count() == 40_000


@pytest.mark.slow
def test_what_is_read_is_bounded_by_offsets_and_times(topic: Topic) -> None:
    topic.send(b"one", b"two", b"three")
    queue = topic.read().collect()[0]["queue"]
    starts = topic.read(start=json.dumps({queue: 1})), topic.read(end=json.dumps({queue: 1}))
    assert [[row.value for row in frame.collect()] for frame in starts] == [["two", "three"], ["one"]]
    stored = topic.read().collect()[0]["timestamp"].isoformat() + "+00:00"
    assert topic.read(start=stored).count() == 3
    assert topic.read(end=stored).count() == 0
    assert topic.read(start="last").count() == 0


def test_columns_that_nobody_asks_for_need_not_be_in_the_schema(topic: Topic) -> None:
    topic.send(b'{"id": 5, "name": "x"}')
    reader = topic.spark.read.format("rocketmq").options(**topic.options)
    (found,) = reader.schema("value struct<id: int>, offset bigint").load(topic.name).collect()
    assert found.asDict(recursive=True) == {"value": {"id": 5}, "offset": 0}


@pytest.mark.slow
def test_rows_whose_table_has_changed_are_read_as_the_newest_one(topic: Topic) -> None:
    topic.write(topic.spark.sql("select 1 as id, 'a' as old"), value__converter="arrow")
    topic.write(topic.spark.sql("select 2L as id, 0.5D as new"), value__converter="arrow")
    found = topic.read().select("value.*").orderBy("id").collect()
    assert [row.asDict() for row in found] == [{"id": 1, "new": None}, {"id": 2, "new": 0.5}]

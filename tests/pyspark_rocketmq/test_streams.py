"""Topics as streams: each row counts once, also when a batch is run again."""

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from tests.pyspark_rocketmq.conftest import Topic

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

COLUMNS = "id:int64, name"


def other(topic: Topic) -> Topic:
    return Topic(topic.spark, topic.client, topic.options["name.servers"])


def fill(topic: Topic, start: int, stop: int) -> None:
    topic.write(topic.spark.sql(f"select id, concat('n', id) as name from range({start}, {stop}, 1, 2)"), value__converter="arrow")


def copy(topic: Topic, to: Topic, checkpoint: Path, **options: str) -> None:
    """Moves what there is, and ends."""
    writer = topic.stream(messages__per__partition="3", **options).select("value").writeStream.format("rocketmq")
    writer = writer.options(**to.options, topic=to.name).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def ids(topic: Topic) -> list[int]:
    return sorted(row.id for row in topic.read(columns=COLUMNS, messages__per__partition="900").select("value.id").collect())


@pytest.mark.slow
def test_a_stream_goes_on_where_it_has_ended(topic: Topic, tmp_path: Path) -> None:
    to = other(topic)
    for start in (0, 1_000):
        fill(topic, start, start + 1_000)
        copy(topic, to, tmp_path)
    assert ids(to) == list(range(2_000))
    assert to.stored() == 2_000


def test_a_batch_whose_commit_is_lost_is_sent_again_and_counts_once(topic: Topic, tmp_path: Path) -> None:
    to = other(topic)
    fill(topic, 0, 2_000)
    copy(topic, to, tmp_path)
    # As a kill between the sends and the end of the batch leaves the checkpoint.
    (committed,) = (tmp_path / "commits").glob("[0-9]*")
    committed.unlink()
    for checksum in (tmp_path / "commits").glob(".*.crc"):
        checksum.unlink()
    copy(topic, to, tmp_path)
    assert to.stored() == 4_000
    fill(topic, 2_000, 2_500)
    copy(topic, to, tmp_path)
    assert to.stored() == 4_500
    assert ids(to) == list(range(2_500))


@pytest.mark.slow
def test_a_stream_whose_topic_was_made_anew_says_so(topic: Topic, tmp_path: Path) -> None:
    to = other(topic)
    fill(topic, 0, 100)
    copy(topic, to, tmp_path)
    topic.client.delete_topic(topic.name)
    topic.client.create_topic(topic.name, queues=2)
    with pytest.raises(StreamingQueryException, match=r"are not there .*on.gap=skip"):
        copy(topic, to, tmp_path)

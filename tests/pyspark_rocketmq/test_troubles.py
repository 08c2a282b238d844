"""What is wrong is told with its place, and nothing is lost in silence."""

import pytest
from pyspark.errors import PySparkException

from rocketmq_remoting.model import Message
from tests.pyspark_rocketmq.conftest import Topic

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROWS = {"columns": "id:int64"}


def test_a_message_that_can_not_be_read_ends_the_job_with_its_place(topic: Topic) -> None:
    topic.send(b'{"id": 1}', b"{", b'{"id": "x"}')
    with pytest.raises(PySparkException, match=rf"queue {topic.name}/broker-0/0, offset 1: .*errors.tolerance=all"):
        topic.read(**ROWS).collect()


def test_a_message_that_can_not_be_read_is_a_row_that_says_why_where_that_is_wanted(topic: Topic) -> None:
    topic.send(b'{"id": 1}', b"{", b'{"id": "x"}', b'{"id": 4}')
    found = topic.read(**ROWS, errors__tolerance="all").orderBy("offset").collect()
    assert [row.value and row.value.id for row in found] == [1, None, None, 4]
    assert [row.offset for row in found] == [0, 1, 2, 3]
    assert [row.problem is None for row in found] == [True, False, False, True]
    assert "id" in found[2].problem


@pytest.mark.slow
def test_a_value_that_does_not_fit_the_newest_table_is_told(topic: Topic) -> None:
    topic.write(topic.spark.sql("select 'a' as id"), value__converter="arrow")
    topic.write(topic.spark.sql("select 2L as id"), value__converter="arrow")
    with pytest.raises(PySparkException, match=r"offset 0, row 0: .*id.*string.*int64"):
        topic.read().collect()


def test_text_is_not_taken_for_rows(topic: Topic) -> None:
    topic.send(b'{"id": 1}')
    with pytest.raises(PySparkException, match=r"offset 0: is string, and .* is wanted: see value.converter and columns"):
        topic.read(**ROWS, value__converter="string").collect()


@pytest.mark.slow
def test_messages_that_are_gone_are_told_and_passed_over_when_that_is_wanted(topic: Topic) -> None:
    topic.send(b"a", b"b")
    start = f'{{"{topic.name}/broker-0/0": 5}}'
    with pytest.raises(PySparkException, match=r"the messages from offset 2 to 4 are not there"):
        topic.read(start=start).collect()
    assert topic.read(start=start, on__gap="skip").count() == 0


def test_all_that_is_wrong_with_the_options_is_told_at_once(topic: Topic) -> None:
    with pytest.raises(PySparkException) as caught:
        topic.read(start="yesterday", on__gap="perhaps", vlaue__converter="json", columns="id:integer")
    told = str(caught.value)
    assert all(
        word in told for word in ("start: is no place", "on.gap: must be one of", "Did you mean value.converter?", "columns:")
    )


def test_a_topic_that_is_not_there_is_told_and_not_made(topic: Topic) -> None:
    there, topic.name = topic.name, "nobody-made-this"
    with pytest.raises(PySparkException, match=r"the topic nobody-made-this is not there"):
        topic.read()
    with pytest.raises(PySparkException, match=r"the topic nobody-made-this is not there.*rocketconnect topic create"):
        topic.write(topic.spark.sql("select 'a' as value"))
    assert not topic.client.topic_exists("nobody-made-this")
    topic.name = f"{there}-"
    with pytest.raises(PySparkException, match=f"is not there; did you mean {there}"):
        topic.read()


def test_an_empty_topic_without_columns_is_text(topic: Topic) -> None:
    assert topic.read().count() == 0
    assert topic.read().schema["value"].dataType.simpleString() == "string"


@pytest.mark.slow
def test_columns_that_no_message_has_are_refused_before_anything_is_sent(topic: Topic) -> None:
    with pytest.raises(PySparkException, match=r"price: is no column of a message.*struct"):
        topic.write(topic.spark.sql("select 'a' as value, 1 as price"))
    assert topic.read().count() == 0


@pytest.mark.slow
def test_a_row_that_is_too_large_is_told_and_what_is_before_it_stays(topic: Topic) -> None:
    frame = topic.spark.sql("select repeat('x', cast(id as int)) as value from range(0, 3000, 1000, 1)")
    with pytest.raises(PySparkException, match=r"the value takes 2,000 bytes and a message may hold 1500"):
        topic.write(frame, record__bytes="1500")
    assert topic.read().count() == 2


def test_overwriting_is_refused(topic: Topic) -> None:
    writer = topic.spark.sql("select 'a' as value").write.format("rocketmq").mode("overwrite").options(**topic.options)
    with pytest.raises(PySparkException, match=r"a topic is only ever added to"):
        writer.save(topic.name)


@pytest.mark.slow
def test_tombstones_are_rows_without_a_value(topic: Topic) -> None:
    where = topic.client.queues(topic.name)[0]
    topic.client.send_batch(where, [Message(b"", properties={"connect-tombstone": "1", "KEYS": "k"})])
    topic.send(b'{"id": 1}')
    found = topic.read(**ROWS).orderBy("offset").collect()
    assert [(row.key, row.value and row.value.id) for row in found] == [("k", None), (None, 1)]

"""What brokers tell, as brokers write it: maps whose keys are objects are not what JSON allows."""

from collections.abc import Callable
from typing import Any

import pytest

from rocketmq_remoting import (
    ConsumerStatus,
    Counted,
    GroupConnection,
    GroupConnections,
    GroupProgress,
    MessageQueue,
    ProtocolError,
    QueueEnds,
    QueueProgress,
)
from rocketmq_remoting.protocol import statistics

FIRST, SECOND = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)
ENDS = (
    b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:{"lastUpdateTimestamp":5,"maxOffset":10,"minOffset":2},'
    b'{"brokerName":"b","queueId":1,"topic":"t"}:{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}},"topicPutTps":0.0}'
)
PROGRESS = (
    b'{"consumeTps":1.5,"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:'
    b'{"brokerOffset":10,"consumerOffset":4,"lastTimestamp":5,"pullOffset":10}}}'
)
STATUS = (
    b'{"mqTable":{{"brokerName":"b","queueId":0,"topic":"t"}:{"locked":false}},"properties":{},"statusTable":{"t":{"consumeFailedMsgs":3,'
    b'"consumeFailedTPS":0.1,"consumeOKTPS":2.5,"consumeRT":7.0,"pullRT":4.0,"pullTPS":2.6}},"subscriptionSet":[]}'
)


def test_the_ends_of_queues_are_read() -> None:
    assert statistics.decode_ends(ENDS) == {FIRST: QueueEnds(2, 10), SECOND: QueueEnds(0, 0)}
    assert statistics.decode_ends(b'{"offsetTable":{}}') == {}


def test_the_progress_of_a_group_is_read() -> None:
    assert statistics.decode_progress(PROGRESS) == GroupProgress({FIRST: QueueProgress(10, 4)}, 1.5)
    assert statistics.decode_progress(b'{"consumeTps":0.0,"offsetTable":{}}') == GroupProgress({}, 0.0)


def test_what_a_consumer_says_of_itself_is_read_behind_maps_that_are_no_json() -> None:
    assert statistics.decode_status(STATUS) == {"t": ConsumerStatus(3, 0.1, 2.5, 7.0, 2.6, 4.0)}


def test_connections_producers_counts_and_lists_are_read() -> None:
    body = (
        b'{"connectionSet":[{"clientAddr":"h:2","clientId":"b"},{"clientAddr":"h:1","clientId":"a"}],"messageModel":"BROADCASTING"}'
    )
    connections = (GroupConnection("h:1", "a"), GroupConnection("h:2", "b"))
    assert statistics.decode_connections(body) == GroupConnections(connections, broadcasting=True)
    assert statistics.decode_producers(b'{"data":{"g":[{},{}],"none":null}}') == {"g": 2, "none": 0}
    assert statistics.decode_counted(b'{"statsMinute":{"avgpt":10.0,"sum":10,"tps":0.2}}') == Counted(10, 0.2)
    assert statistics.decode_groups(b'{"groupList":["b","a"]}') == ["a", "b"]
    assert statistics.decode_topics(b'{"topicConfigTable":{"b":{},"a":{}}}') == ["a", "b"]
    assert statistics.decode_runtime(b'{"table":{"msgPutTotalTodayNow":"11"}}') == {"msgPutTotalTodayNow": "11"}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"offsetTable":{{"', b'{"offsetTable":', b"\xff", b'{"table":5}', b"[" * 100_000]
)
@pytest.mark.parametrize(
    "decode",
    [
        statistics.decode_runtime,
        statistics.decode_topics,
        statistics.decode_ends,
        statistics.decode_groups,
        statistics.decode_connections,
        statistics.decode_progress,
        statistics.decode_producers,
        statistics.decode_counted,
        statistics.decode_status,
    ],
)
def test_what_is_no_answer_is_called_one_that_is_garbled(decode: Callable[[bytes], Any], body: bytes) -> None:
    with pytest.raises(ProtocolError, match="lacks or garbles"):
        decode(body)


@pytest.mark.parametrize("body", [ENDS, PROGRESS, STATUS])
def test_an_answer_that_is_cut_off_is_one_that_is_garbled_or_has_what_is_there(body: bytes) -> None:
    decode: Callable[[bytes], Any] = (
        statistics.decode_ends if body is ENDS else statistics.decode_progress if body is PROGRESS else statistics.decode_status
    )
    whole = decode(body)
    for length in range(len(body)):
        try:
            assert decode(body[:length]) == whole
        except ProtocolError:
            continue


def test_an_offset_that_no_number_holds_is_an_answer_that_is_garbled() -> None:
    with pytest.raises(ProtocolError, match="garbles cannot convert float infinity"):
        statistics.decode_ends(ENDS.replace(b'"maxOffset":', b'"maxOffset":1e999,"was":', 1))

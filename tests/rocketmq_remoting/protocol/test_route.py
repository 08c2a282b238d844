"""What name servers and brokers answer in JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import BrokerData, MessageQueue, Permission, ProtocolError, TopicRoute
from rocketmq_remoting.protocol.route import (
    decode_cluster,
    decode_group_configs,
    decode_route,
    decode_topic_config,
    decode_topic_configs,
    decode_topic_list,
)

ROUTE = {
    "brokerDatas": [{"brokerAddrs": {"0": "1.2.3.4:10911", "1": "1.2.3.5:10911"}, "brokerName": "b", "cluster": "c"}],
    "queueDatas": [
        {"brokerName": "b", "perm": 6, "readQueueNums": 2, "writeQueueNums": 1, "topicSysFlag": 0},
        {"brokerName": "a", "perm": 4, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0},
    ],
}


def test_a_route_tells_queues_by_what_they_allow_sorted() -> None:
    route = decode_route("t", json.dumps(ROUTE).encode())
    assert route.brokers == (BrokerData("c", "b", {0: "1.2.3.4:10911", 1: "1.2.3.5:10911"}),)
    assert route.brokers[0].master == "1.2.3.4:10911"
    assert route.message_queues(Permission.READ) == [
        MessageQueue("t", "a", 0),
        MessageQueue("t", "b", 0),
        MessageQueue("t", "b", 1),
    ]
    assert route.message_queues(Permission.WRITE) == [MessageQueue("t", "b", 0)]


def test_the_bare_numbers_that_old_name_servers_write_as_keys_are_understood() -> None:
    text = json.dumps(ROUTE).replace('"0": ', "0:").replace(', "1": ', ",1:")
    with pytest.raises(ValueError, match="property name"):
        json.loads(text)
    assert decode_route("t", text.encode()) == decode_route("t", json.dumps(ROUTE).encode())


_NAMES = [
    "queueDatas",
    "brokerDatas",
    "brokerAddrTable",
    "topicList",
    "perm",
    "topicConfigTable",
    "subscriptionGroupTable",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner),
    max_leaves=8,
)


@given(json_values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_arbitrary_answers_decode_or_raise_protocol_error(body: bytes) -> None:
    decoders = (decode_cluster, decode_topic_list, decode_topic_config, decode_topic_configs, decode_group_configs)
    for decode in (lambda data: decode_route("t", data), *decoders):
        try:
            decoded = decode(body)
        except ProtocolError:
            continue
        assert isinstance(decoded, TopicRoute | tuple | list | dict)


def test_a_topic_configuration_tells_the_type() -> None:
    config = {"topicName": "t", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    assert decode_topic_config(json.dumps(config).encode()).topic_type == "normal"
    batch = {**config, "attributes": {"queue.type": "BatchCQ"}}
    assert decode_topic_config(json.dumps(batch).encode()).topic_type == "batch"


def test_a_number_of_queues_that_no_number_holds_is_an_answer_that_is_garbled() -> None:
    config = '{"topicName": "a", "readQueueNums": 1e999, "writeQueueNums": 1, "perm": 6}'
    with pytest.raises(ProtocolError, match="garble"):
        decode_topic_configs(f'{{"topicConfigTable": {{"a": {config}}}}}'.encode())

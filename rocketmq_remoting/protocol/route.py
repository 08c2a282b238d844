"""Decodes what name servers and brokers answer in JSON: routes, clusters, topic lists, topic configurations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.model import BrokerData, Permission, QueueData, TopicConfig, TopicRoute
from rocketmq_remoting.protocol.answers import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

# Name servers before 4.9.4 write broker ids as bare numbers where JSON wants strings.
_BARE_KEY = re.compile(rb"([{,])(\d+):")


def decode_route(topic: str, body: bytes) -> TopicRoute:
    """Decode the answer to a route request.

    Raises:
        ProtocolError: it isn't one.
    """
    parsed = _object(body)
    with reading(f"the route of topic {topic}"):
        queues = tuple(
            QueueData(
                broker=str(data["brokerName"]),
                read_queues=int(data["readQueueNums"]),
                write_queues=int(data["writeQueueNums"]),
                permission=_permission(data["perm"]),
            )
            for data in parsed["queueDatas"]
        )
        return TopicRoute(topic, queues, tuple(_broker(data) for data in parsed["brokerDatas"]))


def decode_cluster(body: bytes) -> tuple[BrokerData, ...]:
    """Decode the answer to a cluster request: all brokers of all clusters.

    Raises:
        ProtocolError: it isn't one.
    """
    with reading("the list of brokers"):
        return tuple(_broker(data) for data in _object(body)["brokerAddrTable"].values())


def decode_topic_list(body: bytes) -> list[str]:
    """Decode a list of topic names, sorted.

    Raises:
        ProtocolError: it isn't one.
    """
    topics = _object(body).get("topicList")
    if not isinstance(topics, list):
        raise ProtocolError("the list of topics lacks topicList")
    return sorted(map(str, topics))


def decode_topic_config(body: bytes) -> TopicConfig:
    """Decode a broker's configuration of a topic.

    Raises:
        ProtocolError: it isn't one.
    """
    parsed = _object(body)
    with reading("the topic configuration"):
        return _topic_config(parsed)


def decode_topic_configs(body: bytes) -> dict[str, TopicConfig]:
    """Decode a broker's configurations of all its topics, by their names.

    Raises:
        ProtocolError: they aren't.
    """
    parsed = _object(body)
    with reading("the topics of the broker"):
        return {str(name): _topic_config(data) for name, data in parsed["topicConfigTable"].items()}


def decode_group_configs(body: bytes) -> dict[str, Mapping[str, object]]:
    """Decode a broker's settings of all its consumer groups, by their names.

    Raises:
        ProtocolError: they aren't.
    """
    parsed = _object(body)
    with reading("the consumer groups of the broker"):
        return {str(name): dict(data) for name, data in parsed["subscriptionGroupTable"].items()}


def _topic_config(data: Mapping[str, Any]) -> TopicConfig:
    return TopicConfig(
        topic=str(data["topicName"]),
        read_queues=int(data["readQueueNums"]),
        write_queues=int(data["writeQueueNums"]),
        permission=_permission(data["perm"]),
        attributes={str(name): str(value) for name, value in (data.get("attributes") or {}).items()},
        order=bool(data.get("order")),
        system_flag=int(data.get("topicSysFlag") or 0),
    )


def _broker(data: dict[str, Any]) -> BrokerData:
    return BrokerData(
        cluster=str(data["cluster"]),
        name=str(data["brokerName"]),
        addresses={int(number): str(address) for number, address in data["brokerAddrs"].items()},
    )


def _permission(bits: object) -> Permission:
    return Permission(int(str(bits)) & (Permission.READ | Permission.WRITE))


def _object(body: bytes) -> dict[str, Any]:
    try:
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = json.loads(_BARE_KEY.sub(rb'\1"\2":', body))
    except (ValueError, RecursionError) as error:
        msg = f"the answer is not JSON: {error}"
        raise ProtocolError(msg) from error
    if not isinstance(parsed, dict):
        msg = f"the answer is a JSON {type(parsed).__name__} where an object belongs"
        raise ProtocolError(msg)
    return parsed

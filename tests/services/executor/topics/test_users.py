"""Which connectors keep a topic from being deleted."""

import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors

from services.executor.topics.users import use, users

CAPTURE = {"connector.class": "mysql_cdc_source", "topic": "shop"}


@pytest.mark.parametrize(
    ("config", "does"),
    [
        ({"topics": "payments, shop-eu-orders"}, "reads it"),
        ({"connect.topicnames": "shop-eu-orders"}, "reads it"),
        ({"replay.topic": "shop-eu-orders"}, "reads it"),
        ({"topic": "shop-eu-orders"}, "writes it"),
        ({"connect.topicname": "shop-eu-orders"}, "writes it"),
        ({"replay.to": "shop-eu-orders"}, "writes it"),
        ({"topics": "a", "errors.deadletterqueue.topic.name": "shop-eu-orders"}, "has its dead letters there"),
        (CAPTURE, "writes it"),
        ({**CAPTURE, "table.topic": "${topic}-${database}-${table}"}, "writes it"),
        ({**CAPTURE, "table.topic": "${database}-${table}"}, "writes it"),
        ({**CAPTURE, "table.topic": "${topic}.${table}"}, ""),
        ({**CAPTURE, "topic": "other"}, ""),
        ({"connector.class": "file_source", "topic": "shop"}, ""),
        ({"connector.class": "jdbc_source", "topic": "t", "topic.prefix": "shop-"}, "writes it"),
        ({"topics": "shop"}, ""),
        ({}, ""),
    ],
)
def test_what_a_connector_does_with_a_topic_its_configuration_says(config: dict[str, str], does: str) -> None:
    assert use("shop-eu-orders", config) == does


def test_who_is_paused_or_stopped_does_not_use_it() -> None:
    wanted = {"in": "RUNNING", "out": "PAUSED", "old": "STOPPED", "new": "UNSPECIFIED"}
    there = [
        connectors.Connector(name=name, config={"topic": "t"}, wanted_state=connectors.WantedState.Value(f"WANTED_STATE_{state}"))
        for name, state in wanted.items()
    ]
    assert users("t", there) == (["in writes it", "new writes it"], ["out", "old"])

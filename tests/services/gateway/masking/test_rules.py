"""Which rules count for the records of whom."""

import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors

from services.gateway.masking.rules import Rules

RULES = Rules("hr-*=salary, home.Street; items-item = email;")
HR, ITEM = {"salary", "home.street"}, {"email"}


@pytest.mark.parametrize(
    ("topic", "paths"),
    [
        ("hr-people", HR),
        ("items-item", ITEM),
        ("items", set()),
        ("HR-people", set()),
        # Copies of messages of any topic.
        ("%RETRY%group", HR | ITEM),
        ("%DLQ%group", HR | ITEM),
        ("SCHEDULE_TOPIC_XXXX", HR | ITEM),
        ("RMQ_SYS_TRACE_TOPIC", HR | ITEM),
        ("RCREPLAY_uid", HR | ITEM),
    ],
)
def test_a_topic_has_the_rules_whose_patterns_it_fits(topic: str, paths: set[str]) -> None:
    assert RULES.of_topic(topic).paths == paths


@pytest.mark.parametrize(
    ("config", "paths"),
    [
        ({"topics": "other, hr-people"}, HR),
        ({"topics": "items"}, set()),
        ({"connect.topicnames": "items-item"}, ITEM),
        ({"errors.deadletterqueue.topic.name": "dead", "topics": "items-item"}, ITEM),
        # A source may make a topic for each of its tables.
        ({"topic": "items"}, ITEM),
        ({"topic": "items", "table.topic": "${topic}-${table}"}, ITEM),
        ({"table.topic": "${table}"}, HR | ITEM),
        ({"topics.regex": "it.*"}, HR | ITEM),
        # The executor puts something in its place.
        ({"topics": "${env:TOPICS}"}, HR | ITEM),
        ({"connect.topicnames": "plain, items-${secret:which}"}, ITEM),
        # It has a topic for each table, by default.
        ({"connector.class": "mysql_source", "server.name": "hr", "errors.deadletterqueue.topic.name": "dead"}, HR | ITEM),
        ({"connector.class": "mysql_source", "topic.auto.create": "true", "topic": " "}, HR | ITEM),
        ({"connector.class": "direct", "source.table": "people"}, set()),
        ({"topic": "plain", "filename": "hr-people"}, set()),
    ],
)
def test_a_connector_has_the_rules_of_all_topics_that_it_may_have(config: dict[str, str], paths: set[str]) -> None:
    assert RULES.of_connector(connectors.Connector(config=config)).paths == paths


def test_of_a_connector_that_nobody_knows_every_rule_counts() -> None:
    assert RULES.of_connector(None).paths == HR | ITEM
    assert not Rules("").of_connector(None)


def test_each_part_that_is_no_rule_is_named_with_how_to_write_one() -> None:
    with pytest.raises(ValueError, match="no rule") as raised:
        Rules("a; =b; c=; d=e..f; good=x")
    assert str(raised.value) == (
        "'a'; '=b'; 'c='; 'd=e..f': no rule; write TOPIC=field,path.to.field, where * in TOPIC stands for any characters"
    )

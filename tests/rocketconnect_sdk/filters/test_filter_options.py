"""What the options of a filter say, and what is wrong with them."""

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink
from rocketconnect_sdk.filters.options import tags_of
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.sink import Sink

SINK = {"connector.class": "stdout", "topics": "orders"}


def problems(**options: str) -> dict[str, str]:
    config = {**SINK, **{name.replace("_", "."): text for name, text in options.items()}}
    return {problem.key: f"{problem.reason}. {problem.fix}" for problem in check_connector(config).problems}


@pytest.mark.parametrize("given", ["new,paid", "new || paid", "new||paid, new", " new , paid "])
def test_tags_are_separated_as_lists_are_or_as_rocketmq_does_it(given: str) -> None:
    plugin = find("stdout")
    assert isinstance(plugin, Sink)
    assert tags_of(parse_sink(plugin, {**SINK, "consume.tags": given})) == ["new", "paid"]
    assert problems(consume_tags=given) == {}


@pytest.mark.parametrize(
    ("given", "reason"), [("*", "is no tag: where all messages are to be read"), ("a || ", "an empty tag"), ("a\x02b", "printable")]
)
def test_what_is_no_tag_is_refused(given: str, reason: str) -> None:
    assert reason in problems(consume_tags=given)["consume.tags"]


def test_an_expression_that_brokers_would_read_in_part_is_refused() -> None:
    assert "brokers would read what is before it alone; there is no LIKE" in problems(consume_sql="n LIKE '%3'")["consume.sql"]


def test_tags_and_an_expression_are_one_filter_too_many_and_the_expression_that_says_both_is_told() -> None:
    found = problems(consume_tags="new,paid", consume_sql="n > 3")
    assert list(found) == ["consume.tags"]
    assert "Leave it out, and set consume.sql to TAGS IN ('new', 'paid') AND (n > 3)." in found["consume.tags"]


def test_topics_are_not_made_as_batch_topics_where_there_is_a_filter() -> None:
    assert "cannot filter one by one" in problems(consume_tags="new", topic_type="batch")["topic.type"]
    assert problems(topic_type="batch") == {}

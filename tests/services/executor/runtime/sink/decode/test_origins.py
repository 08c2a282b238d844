"""Of which topics messages are that come back from a dead-letter topic."""

from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, replay_topic
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from services.executor.runtime.sink.decode.origins import by_topic, own, topic_of


def batch(topic: str, *origins: str) -> DecodedBatch:
    raws = [encode_properties({REPLAY_ORIGIN: origin} if origin else {"other": "1"}) for origin in origins]
    count = len(origins)
    source = Source(bytes(100 * count), list(range(0, 100 * count, 100)))
    bodies = [str(number).encode() for number in range(count)]
    return DecodedBatch(MessageQueue(topic, "b", 0), bodies, [7 + 2 * n for n in range(count)], raws, [1] * count, [source], count)


def found(topic: str, *origins: str) -> list[tuple[str, list[bytes]]]:
    return [(topic_of(messages), messages.bodies) for messages in by_topic(batch(topic, *origins))]


def test_what_was_replayed_is_of_the_topic_where_it_failed_first_and_keeps_its_order() -> None:
    origins = ("a/b/0:1", "a/b/1:5", "b/b/0:2", "", "a/b/0:3")
    assert found(replay_topic("u"), *origins) == [
        ("a", [b"0", b"1"]),
        ("b", [b"2"]),
        (replay_topic("u"), [b"3"]),
        ("a", [b"4"]),
    ]


def test_in_other_topics_nobody_says_of_which_topic_a_message_is() -> None:
    assert found("t", "a/b/0:1", "b/b/0:1") == [("t", [b"0", b"1"])]


def test_the_mark_of_its_source_is_that_of_no_message_that_a_group_has_sent_back() -> None:
    marked = {"a": "1", "RCPOS": "c|1|p|0|7", "b": "2"}
    raws = [marked | {"RETRY_TOPIC": "t"}, {"RCPOS": "c|1|p|0|8", "RETRY_TOPIC": "t"}, marked, {"XRETRY_TOPIC": "t", "RCPOS": "m"}]

    def kept(topic: str) -> list[dict[str, str]]:
        messages = batch(topic, *[""] * len(raws))
        messages.raw_properties = list(map(encode_properties, raws))
        return [decode_properties(raw) for raw in own(messages).raw_properties]

    without = [{"a": "1", "b": "2", "RETRY_TOPIC": "t"}, {"RETRY_TOPIC": "t"}, *raws[2:]]
    assert kept("%DLQ%g") == kept("%RETRY%g") == without
    assert kept("t") == raws

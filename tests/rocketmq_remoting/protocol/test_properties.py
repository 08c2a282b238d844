"""Message properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import InvalidMessage, Message, MessageTooLarge, decode_properties, encode_properties
from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES, UniqueKeys, message_properties

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=30)


@given(st.dictionaries(words, words, max_size=10))
def test_encoded_properties_decode_to_the_same(properties: dict[str, str]) -> None:
    assert decode_properties(encode_properties(properties)) == properties


@given(st.binary(max_size=200))
def test_arbitrary_bytes_decode_to_some_properties(raw: bytes) -> None:
    assert all(name and value for name, value in decode_properties(raw).items())


@pytest.mark.parametrize("properties", [{"": "v"}, {"n": ""}, {"a\x01": "v"}, {"n": "v\x02w"}])
def test_properties_that_rocketmq_would_drop_or_tear_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(InvalidMessage, match="neither name nor value may be empty"):
        encode_properties(properties)


def test_properties_over_the_limit_are_refused() -> None:
    room = MAX_PROPERTIES_BYTES - len("n\x01\x02")
    assert len(encode_properties({"n": "v" * room})) == MAX_PROPERTIES_BYTES
    with pytest.raises(MessageTooLarge, match="32768 bytes and RocketMQ allows 32767"):
        encode_properties({"n": "v" * (room + 1)})


def test_tags_keys_and_times_stand_beside_own_properties() -> None:
    message = Message(b"", tags="t", keys="a b", properties={"own": "1"}, delay_level=3, deliver_at_ms=5)
    assert decode_properties(message_properties(message, "unique")) == {
        "TAGS": "t",
        "KEYS": "a b",
        "own": "1",
        "DELAY": "3",
        "TIMER_DELIVER_MS": "5",
        "UNIQ_KEY": "unique",
    }


def test_a_unique_key_of_the_message_itself_is_kept() -> None:
    message = Message(b"", properties={"UNIQ_KEY": "mine"})
    assert decode_properties(message_properties(message, "other"))["UNIQ_KEY"] == "mine"


def test_unique_keys_do_not_repeat_and_have_rocketmqs_form() -> None:
    keys = UniqueKeys()
    made = [keys.next() for _ in range(10_000)]
    assert len(set(made)) == len(made)
    assert all(len(key) == 32 and int(key, 16) >= 0 for key in made)

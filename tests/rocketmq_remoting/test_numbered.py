"""Properties that differ in one number only are the same in whichever form they are held."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting import NumberedProperties, encode_batch
from rocketmq_remoting.batch import decode_numbered
from rocketmq_remoting.numbered import concat_properties, lengths

heads = st.sampled_from([b"a\x01", b"RCPOS\x01u1|2|p|", b"\x01\x01", b"a\x01b\x02c\x01"])
tails = st.sampled_from([b"", b"\x02", b"\x02a\x01b\x02", b"x"])
two_digits = st.lists(st.integers(10, 99), min_size=1, max_size=20)


def _each(head: bytes, numbers: Sequence[int], tail: bytes) -> list[bytes]:
    return [b"%b%d%b" % (head, number, tail) for number in numbers]


@given(heads, two_digits, tails)
def test_what_differs_in_its_last_number_is_held_short_and_is_the_same_sequence(
    head: bytes, numbers: list[int], tail: bytes
) -> None:
    each = _each(head, numbers, tail)
    held = NumberedProperties.of(each)
    assert held is not None
    assert list(held) == each == [held[index] for index in range(len(held))]
    assert list(held[1:3]) == each[1:3]
    assert held.joined() == b"".join(each)
    assert list(lengths(held)) == list(lengths(each))


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=5))
def test_anything_else_is_not_held_short(each: list[bytes]) -> None:
    held = NumberedProperties.of(each)
    assert held is None or list(held) == each


@pytest.mark.parametrize("head", [b"", b"name", b"a\x01b\x02name"])
def test_a_number_in_a_name_is_not_held_short_because_then_names_differ(head: bytes) -> None:
    assert NumberedProperties.of([head + b"64\x01v\x02", head + b"65\x01v\x02"]) is None


@given(st.lists(st.tuples(heads, two_digits, tails), min_size=1, max_size=4))
def test_joined_they_are_what_they_were(columns: list[tuple[bytes, list[int], bytes]]) -> None:
    each = [_each(*column) for column in columns]
    held = [NumberedProperties.of(column) or column for column in each]
    assert list(concat_properties(held)) == [properties for column in each for properties in column]


@given(st.lists(st.tuples(st.binary(max_size=30), st.integers(10, 99)), min_size=1, max_size=20), heads, tails)
def test_a_batch_is_the_same_bytes_and_is_read_back_or_left_to_others(
    messages: list[tuple[bytes, int]], head: bytes, tail: bytes
) -> None:
    bodies, numbers = [body for body, _ in messages], [number for _, number in messages]
    each = _each(head, numbers, tail)
    held = NumberedProperties.of(each)
    assert held is not None
    batch = encode_batch(bodies, held)
    assert batch == encode_batch(bodies, each)
    read = decode_numbered(batch.payload, len(bodies))
    assert read is None or (read[0], list(read[1])) == (bodies, each)
    assert decode_numbered(batch.payload, len(bodies) + 1) is None


def test_messages_of_any_size_with_one_property_are_read_back_short() -> None:
    numbers = range(1_000, 3_000)
    bodies = [b"\x01" * (number - 1_000) for number in numbers]
    read = decode_numbered(encode_batch(bodies, _each(b"RCPOS\x01u|1|p|0|", numbers, b"\x02")).payload, len(bodies))
    assert read is not None
    assert read[0] == bodies
    assert read[1].digits == [b"%d" % number for number in numbers]

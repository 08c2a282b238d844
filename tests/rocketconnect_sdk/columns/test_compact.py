"""Columns that are held short are the sequences that they stand for."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.compact import Numbers, Texts
from rocketconnect_sdk.converters import converter

texts = st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=8), max_size=8)


@given(texts)
def test_texts_are_the_texts(values: list[str]) -> None:
    held = Texts.of([value.encode() for value in values])
    assert held == values
    assert [held[index] for index in range(len(held))] == values
    assert held[1:3] == values[1:3]
    assert (None in held, "\ud800" in held, all(value in held for value in values)) == (False, False, True)
    assert pickle.loads(pickle.dumps(held)) == values
    assert repr(held) == repr(values)


@pytest.mark.parametrize("parts", [[b"\xc3", b"\xa9"], [b"a\xff"], [b"\xed\xa0\x80"]])
def test_what_is_not_utf8_by_itself_is_no_text_even_where_the_next_one_would_end_it(parts: list[bytes]) -> None:
    with pytest.raises(UnicodeDecodeError):
        Texts.of(parts)


@given(st.lists(st.integers(0, 2**62), max_size=8))
def test_numbers_are_offsets_of_one_integer(integers: list[int]) -> None:
    offsets = [(integer,) for integer in integers]
    held = Numbers(integers)
    assert held == offsets
    assert [held[index] for index in range(len(held))] == offsets
    assert held[1:3] == offsets[1:3]
    assert pickle.loads(pickle.dumps(held)) == offsets
    assert repr(held) == repr(offsets)


@given(texts)
@pytest.mark.parametrize("name", ["string", "bytes"])
def test_converters_make_the_same_bytes_of_texts(name: str, values: list[str]) -> None:
    made = converter(name, {}, is_key=False)
    held = Texts.of([value.encode() for value in values])
    assert made.encode_many(held, None) == [made.encode(value, None) for value in values]


@given(texts)
def test_the_string_converter_reads_what_it_reads_one_by_one(values: list[str]) -> None:
    made = converter("string", {}, is_key=False)
    data = [value.encode() for value in values]
    assert list(made.decode_many(data)[0]) == [made.decode(item)[0] for item in data]

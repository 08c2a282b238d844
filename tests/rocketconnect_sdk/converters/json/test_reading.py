"""JSON without a schema is read in one way, wherever it is read: with nothing lost and no number changed, or it is refused."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.file_source.records import JsonLines
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.converters.json.reading import value_of, values_of
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.converters.json.registered_schema import from_json_schema
from rocketconnect_sdk.converters.json.schema import read_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_line, to_json
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.targets.keys import read_keys
from rocketconnect_sdk.targets.objects import read_values
from rocketconnect_sdk.transforms.casting import cast
from tests.examples import some

TABLE = parse_columns("name:json")
_MANY = 40


def from_file(text: bytes, *, others: int = 0) -> object:
    lines = JsonLines(1 << 20, replace=False).cut(b"[1]\n" * others + text + b"\n", 0, last=True)
    value = lines.values[others]
    if isinstance(value, Rejected):
        raise RecordError(value.reason)
    return value


def from_message(text: bytes, *, others: int = 0) -> object:
    reader = converter("json", {"schemas.enable": "false"}, is_key=False)
    if others:
        return reader.decode_many([b"[1]"] * others + [text])[0][others]
    return reader.decode(text)[0]


def from_table(text: bytes) -> object:
    reasons = read_values(pa.array([text.decode()]), TABLE, ()).reasons
    if reasons:
        raise RecordError(reasons[0])
    return value_of(text)


def from_key(text: bytes) -> object:
    _, reasons = read_keys(pa.array([text.decode()]), TABLE)
    if reasons:
        raise RecordError(reasons[0])
    return value_of(text)


READERS: Mapping[str, Callable[[bytes], object]] = {
    "a line of a file": from_file,
    "lines of a file": lambda text: from_file(text, others=_MANY),
    "a message": from_message,
    "messages": lambda text: from_message(text, others=_MANY),
    "a row of columns": lambda text: rows_of_values([text], TABLE) and value_of(text),
    "a row of a table": from_table,
    "a key of a table": from_key,
}
OBJECTS: Mapping[str, str] = {
    '{"name":"first","name":"second"}': "an object has the name 'name' twice",
    '{"name":{"a":[{"b":1,"b":2}]}}': "an object has the name 'b' twice",
    '{"name":1,"n\\u0061me":2}': "an object has the name 'name' twice",
    '{"name":"\\ud800"}': r"\\ud800 at byte 9 is half of a character",
    '{"name":"\\ud83dx"}': r"\\ud83d at byte 9 is half of a character",
    '{"name":"\\udc00"}': r"\\udc00 at byte 9 is half of a character",
    '{"name":"\\\\\\ud83d\\ud83d\\ude00"}': r"\\ud83d at byte 11 is half of a character",
    '{"\\ud800":1,"name":1}': r"\\ud800 at byte 2 is half of a character",
    '{"name":1e400}': "the number 1e400 is beyond those of 64 bits",
    '{"name":1e-400}': "the number 1e-400 is beyond those of 64 bits",
    f'{{"name":{"1" * 5000}}}': "a whole number has more than 4300 digits",
    f'{{"name":0.{"1" * 5000}}}': "has more than 4300 digits",
    '{"name":NaN}': 'NaN is none of its numbers; write "NaN"',
    '{"name":-Infinity}': '-Infinity is none of its numbers; write "-Infinity"',
    '{"name":' + "[" * 5000 + "]" * 5000 + "}": "nested too deep",
}


@pytest.mark.parametrize(("text", "why"), OBJECTS.items(), ids=[text[:24] for text in OBJECTS])
def test_what_would_be_lost_or_changed_is_refused_wherever_it_is_read(text: str, why: str) -> None:
    for place, read in READERS.items():
        if place == "a key of a table" and "twice" not in why:
            # A text that is no JSON may be the key itself.
            continue
        with pytest.raises(RecordError, match=why) as refused:
            read(text.encode())
        assert "truncated" not in str(refused.value), place


@pytest.mark.parametrize("text", ['{"name":1,"Name":2}', '{"name":"\\ud83d\\ude00"}', '{"name":0.12345678901234567890}'])
def test_names_differ_by_case_and_whole_characters_and_all_digits_are_read(text: str) -> None:
    assert [read(text.encode()) for read in READERS.values()] == [json.loads(text, parse_float=Decimal)] * len(READERS)


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?\Z")


@given(st.lists(NUMBERS, min_size=1, max_size=4))
@example(["0.1234567890123456789"])
@example(["12345678901234567.5"])
@example(["123456789012345678e-3"])
@example(["0.30000000000000004", "1.0000000000000000000", "-0.0"])
@example(["0.10000000000000001"])
@settings(max_examples=some(500), deadline=None)
def test_a_number_that_is_read_and_written_is_the_same_number(texts: list[str]) -> None:
    text = f"[{','.join(texts)}]".encode()
    value: Any = value_of(text)
    assert values_of([b"[]", text]) == [[], value]
    assert values_of([b'{"price":1.5,"id":12345678}', text]) is not None
    assert json.loads(to_json(value), parse_float=Decimal, parse_int=Decimal) == list(map(Decimal, texts))


def test_a_text_that_is_json_and_has_to_be_one_line_keeps_its_digits() -> None:
    assert json_line('{"a":\n0.1234567890123456789,"a":1.50}') == b'{"a":0.1234567890123456789,"a":1.50}\n'


def test_a_cast_to_json_takes_what_is_json_and_says_what_is_wrong_with_the_rest() -> None:
    for text, why in (("NaN", "NaN is none of its numbers"), ('"\\ud800"', "half of a character")):
        with pytest.raises((RecordError, ValueError), match=why):
            cast(text, None, Schema(Type.JSON))
    assert cast('{"a": 0.1234567890123456789}', None, Schema(Type.JSON)) == '{"a": 0.1234567890123456789}'


def test_half_a_character_is_told_under_a_schema_too() -> None:
    enveloped = converter("json", {}, is_key=False)
    registered = JsonForm(Schema(Type.STRUCT, fields=(Field("a", Schema(Type.STRING)),)))
    for read in (
        partial(enveloped.decode, b'{"schema":{"type":"string"},"payload":"\\ud800"}'),
        partial(registered.decode, b'{"a":"\\ud800"}', 0),
    ):
        with pytest.raises(RecordError, match=r"\\ud800 at byte [0-9]+ is half of a character"):
            read()


def test_a_schema_with_a_name_twice_is_refused_wherever_it_comes_from() -> None:
    twice = '{"type":"record","name":"a","fields":[],"fields":[{"name":"b","type":"int"}]}'
    for read in (
        partial(AvroForm, twice),
        partial(read_json, twice.encode()),
        partial(from_json_schema, twice, {}),
    ):
        with pytest.raises(RecordError, match="has the name 'fields' twice"):
            read()


def test_a_decimal_column_has_all_digits_of_a_number() -> None:
    columns = parse_columns("total:decimal(30,2)")
    text = b'{"total":1234567890123456789012345678.90,"more":1}'
    assert rows_of_values([text, value_of(text)], columns).field(0).to_pylist() == [Decimal("1234567890123456789012345678.90")] * 2

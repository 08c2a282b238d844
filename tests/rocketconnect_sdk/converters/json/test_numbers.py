"""No number of JSON becomes another one in silence, whichever way it is read or written; what a type holds is not refused."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from struct import pack, unpack
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.objects import rows_of_bytes, rows_of_values
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Schema, Type, decimal, struct

FLOATS = (Schema(Type.FLOAT64), Schema(Type.FLOAT32))
SCHEMAS = [*FLOATS, *map(Schema, WHOLE), decimal(2, precision=30)]
EDGES = [sign * ((1 << bits) + more) for bits in (24, 53, 63, 64, 127) for more in (-1, 0, 1) for sign in (1, -1)]
WHOLES = st.integers(-(1 << 70), 1 << 70) | st.sampled_from(EDGES) | st.integers(-99, 99).map(lambda n: n * 10**19)
TOKENS = (
    WHOLES.map(str)
    | st.builds("{}.{}".format, WHOLES, st.integers(0, 10**20))
    | st.builds("{}e{}".format, st.integers(-(10**18), 10**18), st.integers(-60, 40))
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
)


def enveloped() -> Converter:
    return converter("json", {}, is_key=False)


def bare() -> Converter:
    return converter("json", {"schemas.enable": "false"}, is_key=False)


def ways(schema: Schema, token: str) -> list[Callable[[], Any]]:
    """The ways in which the number is read as one of the type."""
    row = struct([("a", schema)])
    text, good = b'{"a":%b}' % token.encode(), b'{"a":1}'
    if schema.type in (Type.DECIMAL, Type.UINT64):
        good = b'{"a":"AQ=="}'
    json, form = enveloped(), JsonForm(row)
    head, _, _ = json.encode({"a": 1}, row).partition(b'{"a":')
    message, other = (head + payload + b"}" for payload in (text, good))
    return [
        lambda: in_row(json.decode(message)[0]),
        *(partial(last, json, [*[other] * count, message]) for count in (3, 40)),
        lambda: in_row(form.decode(text, 0)),
        lambda: in_row(list(form.decode_many([good] * 40 + [text], 0))[-1]),
    ]


def in_row(value: Any) -> Any:
    return value["a"]


def last(json: Converter, messages: Sequence[bytes]) -> Any:
    return in_row(json.decode_many(messages)[0][len(messages) - 1])


def of_columns(schema: Schema, token: str) -> list[Callable[[], Any]]:
    """The ways in which it is read for a column, without a schema: of many at once where that is possible."""
    row, text = struct([("a", schema)]), b'{"a":%b}' % token.encode()
    plain = bare()

    def at_once() -> Any:
        rows = rows_of_bytes([text] * 3, row)
        return rows_of_values([plain.decode(text)[0]], row)[0].as_py()["a"] if rows is None else rows[2].as_py()["a"]

    return [at_once, lambda: rows_of_values([text.decode()], row)[0].as_py()["a"]]


def is_whole(token: str) -> bool:
    return re.fullmatch(r"-?\d+", token) is not None


def rounded(schema: Schema, number: float) -> float:
    return unpack("f", pack("f", number))[0] if schema.type is Type.FLOAT32 else number


def is_as_good(schema: Schema, token: str, found: Any) -> bool:
    """Whether what was read is the number; of one with a point or exponent the nearest that the type has."""
    if schema not in FLOATS:
        return bool(found == Decimal(token))
    if not is_whole(token):
        return bool(found == rounded(schema, float(token)))
    shortest = str(np.float32(found)) if schema.type is Type.FLOAT32 else repr(found)
    return bool(found == int(token) or Decimal(shortest) == int(token))


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@given(token=TOKENS)
@example("9007199254740993")
@example("-9007199254740993")
@example("16777217")
@example("18446744073709551616")
@example("9007199254740993.0")
@example("12345678901234567.5")
@example("1e400")
def test_no_number_is_changed_by_being_read(schema: Schema, token: str) -> None:
    for number, way in enumerate([*ways(schema, token), *(of_columns(schema, token) if is_whole(token) else ())]):
        try:
            found = way()
        except RecordError:
            continue
        assert is_as_good(schema, token, found), (number, found)


@pytest.mark.parametrize("schema", [schema for schema in SCHEMAS if schema.type in WHOLE], ids=str)
@given(token=TOKENS)
@example("9007199254740993.0")
@example("12345678901234567.5")
def test_a_whole_number_in_a_column_is_what_stood_there(schema: Schema, token: str) -> None:
    for way in of_columns(schema, token):
        try:
            found = way()
        except RecordError:
            continue
        assert found == Decimal(token)


@given(number=WHOLES)
def test_whole_numbers_are_read_wherever_they_are_numbers_of_the_type(number: int) -> None:
    assert bare().decode(str(number).encode())[0] == number
    for schema in SCHEMAS:
        least, most = WHOLE.get(schema.type, (-(1 << 24), 1 << 24))
        if least <= number <= most:
            assert {way() for way in [*ways(schema, str(number)), *of_columns(schema, str(number))]} == {number}


@pytest.mark.parametrize("schema", FLOATS, ids=str)
@pytest.mark.parametrize(("token", "meant"), [("-1152921504606846976", -(2.0**60)), ("1e22", 1e22)])
def test_large_numbers_are_read_where_they_are_of_the_type(schema: Schema, token: str, meant: float) -> None:
    assert {way() for way in [*ways(schema, token), *of_columns(schema, token)]} == {rounded(schema, meant)}


@pytest.mark.parametrize(("schema", "token"), [(FLOATS[0], "1152921504606847000"), (FLOATS[1], "1152921500000000000")], ids=str)
def test_large_numbers_are_read_as_others_write_them(schema: Schema, token: str) -> None:
    """JavaScript writes as many digits as say which number it is, and zeros behind them."""
    assert {way() for way in [*ways(schema, token), *of_columns(schema, token)]} == {2.0**60}


@pytest.mark.parametrize("schema", FLOATS, ids=str)
@given(number=WHOLES)
def test_no_number_is_changed_by_being_written(schema: Schema, number: int) -> None:
    row = struct([("a", schema), ("b", Schema(Type.INT64))])
    walked = struct([("a", schema), ("b", Schema(Type.INT64, default=5))])
    json, value = enveloped(), {"a": number, "b": 1}
    if is_as_good(schema, str(number), rounded(schema, float(number))):
        messages = [json.encode(value, row), json.encode(value, walked), *json.encode_many([value, {"a": 1.5, "b": 1}], row)]
        assert [in_row(json.decode(message)[0]) for message in messages] == [rounded(schema, float(number))] * 3 + [1.5]
        return
    for asked in (row, walked):
        with pytest.raises(RecordError, match="would be another number"):
            json.encode(value, asked)
        with pytest.raises(RecordError, match="would be another number"):
            json.encode_many([{"a": 1.5, "b": 1}, value], asked)


def test_what_is_changed_is_told_with_its_place() -> None:
    row = struct([("in", struct([("n", Schema(Type.FLOAT64))]))])
    told = r"in: n: 9007199254740993 would be another number in the 64 bits of a double: make it int64, decimal or string"
    with pytest.raises(RecordError, match=told):
        JsonForm(row).decode(b'{"in":{"n":9007199254740993}}', 0)


def test_large_numbers_of_a_column_are_written_as_they_are() -> None:
    values = [2.0**60, -(2.0**100), 1e300]
    json = enveloped()
    messages = json.encode_many(Column(to_array(values, FLOATS[0])), FLOATS[0])
    assert [json.decode(message)[0] for message in messages] == values
    assert messages == [json.encode(value, FLOATS[0]) for value in values]


HOLDER = struct([("x", Schema(Type.FLOAT64, optional=True))], optional=True)
NESTED = struct([("l", Schema(Type.ARRAY, optional=True, items=HOLDER)), ("b", Schema(Type.FLOAT32, optional=True))])


@pytest.mark.parametrize("number", ["1e300", "-0.0", "90071992547409930.5", "1e16"])
def test_large_numbers_that_are_none_of_many_digits_are_read_as_columns(number: str) -> None:
    texts = [b'{"l":null,"b":null}', b'{"l":[null,{"x":null},{"x":%b}],"b":1.5}' % number.encode(), b'{"l":[],"b":null}'] * 20
    head, _, _ = enveloped().encode({"l": None, "b": None}, NESTED).partition(b'{"l":')
    values, _ = enveloped().decode_many([head + text + b"}" for text in texts])
    assert isinstance(values, Column)
    assert list(values) == [enveloped().decode(head + text + b"}")[0] for text in texts]


@pytest.mark.parametrize("number", ["9007199254740993", "-0", "NaN", "1e400"])
def test_a_number_in_a_list_that_a_column_would_change_is_not_read_as_one(number: str) -> None:
    texts = [b'{"l":[null,{"x":1.5},{"x":%b}],"b":1.5}' % number.encode()] * 40
    head, _, _ = enveloped().encode({"l": None, "b": None}, NESTED).partition(b'{"l":')
    try:
        values = [enveloped().decode(head + texts[0] + b"}")[0]] * 40
    except RecordError:
        with pytest.raises(RecordError):
            enveloped().decode_many([head + text + b"}" for text in texts])
    else:
        found = list(enveloped().decode_many([head + text + b"}" for text in texts])[0])
        assert repr(found) == repr(values)

"""replace.null.with.default of the JSON converter: whether a null is the default of its schema or a null."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct, timestamp

NUMBER = Schema(Type.INT64, optional=True, default=7)
TEXT = replace(STRING, optional=True, default="none")
PRICE = replace(decimal(2), optional=True, default=None)
ROW = struct([("n", NUMBER), ("t", TEXT), ("inner", replace(struct([("n", NUMBER)]), optional=True)), ("price", PRICE)])
NULLS = {"n": None, "t": None, "inner": {"n": None}, "price": None}
DEFAULTS = {"n": 7, "t": "none", "inner": {"n": 7}, "price": None}


def json_converter(replaces: bool | None, *, enveloped: bool = True) -> Converter:
    options = {} if replaces is None else {"replace.null.with.default": str(replaces).lower()}
    return converter("json", {**options, "schemas.enable": str(enveloped).lower()}, is_key=False)


@pytest.mark.parametrize(("replaces", "expected"), [(None, DEFAULTS), (True, DEFAULTS), (False, NULLS)])
@pytest.mark.parametrize("count", [1, 40])
def test_it_is_written_and_read_as_is_said(replaces: bool | None, expected: dict[str, Any], count: int) -> None:
    asked = json_converter(replaces)
    column = Column(to_array([NULLS] * count, ROW))
    for messages in (asked.encode_many([NULLS] * count, ROW), asked.encode_many(column, ROW)):
        for message in messages:
            assert message == asked.encode(NULLS, ROW)
            assert json.loads(message)["payload"] == expected
    # Whatever is said, the schema of a message says what its defaults are, to whoever reads it otherwise.
    with_nulls, without = json_converter(False).encode(NULLS, ROW), json_converter(True).encode(NULLS, ROW)
    assert json.loads(with_nulls)["schema"] == json.loads(without)["schema"]
    assert asked.decode(with_nulls) == (expected, ROW)
    found, schema = asked.decode_many([with_nulls] * count)
    assert (list(found), schema) == ([expected] * count, ROW)
    assert asked.decode(without) == (DEFAULTS, ROW)


@pytest.mark.parametrize(("replaces", "expected"), [(True, DEFAULTS), (False, {**NULLS, "inner": None})])
def test_what_is_missing_is_as_what_is_null(replaces: bool, expected: dict[str, Any]) -> None:
    message = json.loads(json_converter(True).encode(NULLS, ROW))
    message["payload"] = {"inner": {}} if replaces else {}
    assert json_converter(replaces).decode(json.dumps(message).encode()) == (expected, ROW)


@pytest.mark.parametrize(
    ("leaf", "default"),
    [
        (decimal(2), Decimal("1.50")),
        (Schema(Type.DATE), date(2024, 2, 29)),
        (Schema(Type.TIME), time(1, 2, 3)),
        (timestamp(), datetime(2024, 2, 29, tzinfo=UTC)),
        (Schema(Type.UUID), UUID(int=7)),
        (Schema(Type.UINT64), 1 << 63),
        (Schema(Type.FLOAT32), 0.5),
    ],
    ids=lambda value: value.type.value if isinstance(value, Schema) else "",
)
def test_the_default_of_any_type_stands_for_what_is_null_or_missing(leaf: Schema, default: Any) -> None:
    asked, row = json_converter(True), struct([("a", replace(leaf, optional=True, default=default))])
    good = asked.encode({"a": default}, row)
    head = good[: good.index(b'"payload":')]
    for payload in (b"{}", b'{"a":null}'):
        message = head + b'"payload":' + payload + b"}"
        assert asked.decode(message)[0] == {"a": default}
        assert list(asked.decode_many([good] * 40 + [message])[0]) == [{"a": default}] * 41
        assert json_converter(False).decode(message)[0] == {"a": None}


def test_what_is_required_is_no_null_where_nulls_stay() -> None:
    required = struct([("n", Schema(Type.INT64, default=7))])
    message = json_converter(True).encode({"n": None}, required)
    assert json.loads(message)["payload"] == {"n": 7}
    null = message.replace(b'{"n":7}', b'{"n":null}')
    assert json_converter(True).decode(null)[0] == {"n": 7}
    with pytest.raises(RecordError):
        json_converter(False).encode({"n": None}, required)
    with pytest.raises(RecordError):
        json_converter(False).decode(null)


def test_without_envelopes_it_is_written_as_is_said() -> None:
    for replaces, expected in ((True, DEFAULTS), (False, NULLS)):
        assert json.loads(json_converter(replaces, enveloped=False).encode(NULLS, ROW)) == expected

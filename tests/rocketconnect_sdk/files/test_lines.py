import json
import math
from datetime import UTC, datetime, time
from decimal import Decimal

import pytest

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_lines, plainly, text_lines
from rocketconnect_sdk.schema import Schema, Type, Unit, struct, timestamp


def test_text_is_written_as_it_is_and_other_values_as_json() -> None:
    assert text_lines(["a", "", "ü"]) == "a\n\nü\n".encode()
    assert text_lines(["a", None, b"\xff", {"x": 1}, 2, True]) == b'a\n\n\xff\n{"x":1}\n2\ntrue\n'
    assert text_lines([]) == b""


def test_json_lines_hold_one_json_value_each() -> None:
    values = ["text", '{"a": 1}', "[1,\n2]", "{no json", {"b": b"\x01"}, Decimal("1.10"), datetime(2020, 1, 1, tzinfo=UTC), None]
    lines = json_lines(values).split(b"\n")
    assert lines[:4] == [b'"text"', b'{"a": 1}', b"[1,2]", b'"{no json"']
    assert lines[4:] == [b'{"b":"AQ=="}', b"1.10", b'"2020-01-01T00:00:00Z"', b"null", b""]


def test_what_is_no_number_is_a_string_rather_than_null() -> None:
    assert json.loads(json_lines([{"a": math.nan, "b": [math.inf, -math.inf], "c": None}])) == {
        "a": "NaN",
        "b": ["Infinity", "-Infinity"],
        "c": None,
    }


@pytest.mark.parametrize("value", [object(), "\ud800", {"a": object()}])
def test_what_has_no_form_is_a_record_error(value: object) -> None:
    for lines in (text_lines, json_lines):
        with pytest.raises(RecordError):
            lines(["good", value])


def test_what_python_does_not_tell_is_written_by_its_schema() -> None:
    ms, ns = Unit.MILLISECONDS, Unit.NANOSECONDS
    schema = struct(
        [
            ("t", Schema(Type.TIME, unit=ms)),
            ("tn", Schema(Type.ARRAY, items=Schema(Type.TIME, unit=ns))),
            ("at", timestamp(ns, zone=True)),
            ("j", Schema(Type.JSON, optional=True)),
        ]
    )
    row = {"t": time(23, 59, 59, 123_000), "tn": [1], "at": -1, "j": '{"a":\n1.50}'}
    expected = (
        b'{"t":"23:59:59.123","tn":["00:00:00.000000001"],"at":"1969-12-31T23:59:59.999999999Z","j":{"a":1.50}}\n'
        b'{"t":"00:00:00","tn":[],"at":"1970-01-01T00:00:00Z","j":null}\n'
    )
    assert json_lines(plainly([row, {"t": time(), "tn": [], "at": 0, "j": None}], schema)) == expected
    for bad in ({**row, "at": "x"}, {**row, "j": "{"}):
        with pytest.raises(RecordError, match=r"does not fit its schema|is no timestamp"):
            plainly([bad], schema)

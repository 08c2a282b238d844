import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_lines, text_lines


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

"""What sources keep beside their offsets, as it is written and read."""

from types import MappingProxyType
from typing import Any

import pytest

from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.resume import MAXIMUM_BYTES, read, written


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"deeper": value}
    return value


def test_what_is_json_comes_back_as_it_was() -> None:
    resume = {"cursor": "ü\ud800\0", "big": 2**80, "part": 0.1, "none": None, "yes": True, "list": [1, {"a": []}]}
    assert read(written(resume)) == resume
    assert written(MappingProxyType({"a": MappingProxyType({"b": 1})})) == '{"a":{"b":1}}'
    assert (written({}), read("")) == ("", {})


@pytest.mark.parametrize(
    ("resume", "reason"),
    [
        ({"a": {"lag": float("nan")}}, "resume.a.lag is nan, which JSON can't hold"),
        ({"a": [0.0, float("-inf")]}, r"resume.a\[1\] is -inf, which JSON can't hold"),
        ({"token": b"secret"}, "resume.token is a bytes, which JSON can't hold"),
        ({"a": {7: 1}}, "resume.a has a key that is a int: the keys of a JSON object are texts"),
        (["cursor"], "resume is a list, not a JSON object"),
        ("cursor", "resume is a str, not a JSON object"),
        ({"a": "x" * MAXIMUM_BYTES}, "resume takes 65,544 bytes as JSON, and a position holds 65,536"),
        (nested(100_000), "resume is nested too deeply"),
    ],
)
def test_what_is_no_json_object_or_too_long_is_told_without_its_value(resume: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        written(resume)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "resume is an array, not a JSON object"),
        ('"secret"', "resume is a text, not a JSON object"),
        ("null", "resume is null, not a JSON object"),
        ("true", "resume is a boolean, not a JSON object"),
        ("1", "resume is a number, not a JSON object"),
        ('{"a": NaN}', "resume is no JSON"),
        ("{secret", "resume is no JSON"),
        ("[" * 100_000, "resume takes 100,000 bytes"),
        (f'{{"a":"{"x" * MAXIMUM_BYTES}"}}', "resume takes 65,544 bytes"),
    ],
)
def test_a_text_that_is_no_json_object_is_told_without_its_value(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        read(text)
    assert "secret" not in str(caught.value)


def test_no_map_is_in_what_a_log_shows_of_a_position_or_a_batch() -> None:
    resume = {"cursor": "secret"}
    assert "secret" not in repr(Position((1,), resume))
    assert "secret" not in repr(SourceBatch("p", ["a"], [(1,)], resume=resume))

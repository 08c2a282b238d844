"""Whatever JSON has is in what is read of it, or it is a bad record: alone as among others."""

import json as plain
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, decimal, struct

INT = Schema(Type.INT64)
INNER = struct([("x", INT), ("t", OPTIONAL_STRING)])
ROW = struct([("id", INT), ("t", OPTIONAL_STRING), ("in", INNER)])
WALKED = struct([("id", INT), ("t", OPTIONAL_STRING), ("in", INNER), ("d", decimal(2, precision=9))])
LISTED = struct([("id", INT), ("t", OPTIONAL_STRING), ("in", Schema(Type.ARRAY, items=INNER))])
MAPPED = struct([("id", INT), ("t", OPTIONAL_STRING), ("in", Schema(Type.MAP, keys=STRING, items=INT))])
TEXTS = ("", ":", '":', '"', "\\", "http://a:1", '{"a":1,"a":2}', "é", "\n :", "12:30")


def with_schemas(**options: str) -> Converter:
    return converter("json", options, is_key=False)


def without() -> Converter:
    return converter("json", {"schemas.enable": "false"}, is_key=False)


def ways(json: Converter, good: bytes, message: bytes) -> list[Callable[[], Any]]:
    """How one message is read: alone, among a few, among many."""
    many = [lambda count=count: json.decode_many([good] * count + [message, good])[0][count] for count in (0, 3, 40)]
    return [lambda: json.decode(message)[0], *many]


def refused(ways: Sequence[Callable[[], Any]], why: str) -> None:
    """The first says why; of the others it is enough that they refuse: a bad record is then looked for alone."""
    for number, way in enumerate(ways):
        with pytest.raises(RecordError, match=None if number else why):
            way()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("schema", "is_inner"),
    [(ROW, False), (ROW, True), (WALKED, False), (WALKED, True), (LISTED, False), (LISTED, True), (MAPPED, False)],
)
def test_a_field_of_a_payload_that_its_schema_lacks_is_a_bad_record(schema: Schema, text: str, *, is_inner: bool) -> None:
    json = with_schemas()
    good = json.encode(row(schema, text), schema)
    assert json.decode_many([good] * 40)[0][39] == json.decode(good)[0] == row(schema, text)
    envelope = plain.loads(good)
    place = envelope["payload"]["in"] if is_inner else envelope["payload"]
    (place[0] if isinstance(place, list) else place)["more"] = text
    for made in (dumped(envelope), plain.dumps(envelope, separators=(",", " : ")).encode()):
        refused(ways(json, good, made), "unknown field `more`.*its schema has not: put it into the schema, or leave it out")


def row(schema: Schema, text: str) -> dict[str, Any]:
    inner: Any = {"x": 1, "t": text}
    if schema is LISTED:
        inner = [inner, inner]
    if schema is MAPPED:
        inner = {text: 1}
    return {"id": 7, "t": text, "in": inner, **({"d": 1} if schema is WALKED else {})}


def dumped(value: object) -> bytes:
    return plain.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "payload",
    [
        b'{"id":1,"id":2,"t":"x","in":{"x":1,"t":"y"}}',
        b'{"id":1,"t":"x","in":{"x":1,"t":"y"},"i\\u0064":1}',
        b'{"id":1,"id" :2,"in":{"x":1}}',
        b'{"id":1,"t":null,"t":"x","in":{"x":1}}',
        b'{"id":1,"t":"x","in":{"x":1,"x":1,"t":"y"}}',
        b'{"id":1,"in":{"x":1,"t":"y"},"in"\n:{"x":2,"t":"z"}}',
    ],
)
def test_a_name_that_stands_twice_in_an_object_is_a_bad_record(payload: bytes) -> None:
    json = with_schemas()
    good = json.encode(row(ROW, "x"), ROW)
    message = good[: good.index(b'"payload":') + len(b'"payload":')] + payload + b"}"
    refused(ways(json, good, message), "has the name '(id|t|x|in)' twice, .*: give it once")
    refused(ways(without(), b'{"id":1}', payload), "has the name '(id|t|x|in)' twice, .*: give it once")
    refused([lambda: rows_of_values([payload.decode()], ROW), lambda: rows_of_values([payload], ROW)], "twice")
    assert without().decode_rows([payload] * 40, ROW) is None


@pytest.mark.parametrize(
    "message",
    [
        b'{"schema":null,"payload":1,"payload":2}',
        b'{"payload":111,"payload":1}',
        b'{"schema":null,"schema":null,"payload":2}',
        b'{"schema":null, "payload":{"a":1,"a":2}}',
        b'{"schema":null,"payload":[[{"a":1},{"a":1,"a":2}]]}',
    ],
)
def test_a_name_that_stands_twice_in_an_envelope_is_a_bad_record(message: bytes) -> None:
    refused(ways(with_schemas(), b'{"schema":null,"payload":1}', message), "has the name '(payload|schema|a)' twice")


def test_json_schema_refuses_what_its_schema_lacks_and_what_stands_twice() -> None:
    form = JsonForm(ROW)
    good = b'{"id":1,"t":"x","in":{"x":1,"t":"y"}}'
    for message, why in (
        (b'{"id":1,"t":"x","in":{"x":1,"t":"y"},"more":1}', "unknown field `more`"),
        (b'{"id":1,"in":{"x":1,"more":1}}', "unknown field `more`"),
        (b'{"id":1,"id":2,"in":{"x":1}}', "the name 'id' twice"),
    ):
        refused([partial(form.decode, message, 0)], why)
        for count in (1, 40):
            refused([partial(form.decode_many, [good] * count + [message], 0)], why)


KEYS = st.sampled_from(["a", "b", "", ":", '"', '":', "ü"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-(1 << 70), 1 << 70) | st.sampled_from(TEXTS) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(KEYS, inner), max_size=3).map(tuple),
    max_leaves=12,
)
"""JSON, with a tuple of pairs for an object: it may have a name twice."""


@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from([":", " :", "\n:", "\t\r: "]), st.booleans())
def test_whatever_is_read_without_a_schema_is_all_that_there_is(values: list[Any], colon: str, escaped: bool) -> None:
    texts = [written(value, colon, escaped=escaped).encode() for value in values]
    bad = [is_twice(value) for value in values]
    json = without()
    for text, value, is_bad in zip(texts, values, bad, strict=True):
        if is_bad:
            refused([partial(json.decode, text)], "twice")
        else:
            assert json.decode(text)[0] == as_dicts(value)
    for many in (texts, texts * 60):
        if any(bad):
            refused([partial(json.decode_many, many)], "twice")
        else:
            assert list(json.decode_many(many)[0])[: len(values)] == list(map(as_dicts, values))


def written(value: Any, colon: str, *, escaped: bool) -> str:
    if isinstance(value, tuple):
        parts = (plain.dumps(key, ensure_ascii=escaped) + colon + written(item, colon, escaped=escaped) for key, item in value)
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(written(item, colon, escaped=escaped) for item in value) + "]"
    text = plain.dumps(value, ensure_ascii=escaped)
    return re.sub(":", r"\\u003a", text) if escaped and isinstance(value, str) else text


def is_twice(value: Any) -> bool:
    if isinstance(value, tuple):
        return len({key for key, _ in value}) < len(value) or any(is_twice(item) for _, item in value)
    return isinstance(value, list) and any(map(is_twice, value))


def as_dicts(value: Any) -> Any:
    if isinstance(value, tuple):
        return {key: as_dicts(item) for key, item in value}
    return [as_dicts(item) for item in value] if isinstance(value, list) else value

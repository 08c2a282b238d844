"""A registry that takes its time holds up nobody for longer than there is patience."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from starlette.responses import Response

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.registry.server import TestRegistry, running

ROW = struct([("a", Schema(Type.INT32))], name="shop.order")
OTHER = struct([("a", Schema(Type.STRING))], name="shop.other")

T = TypeVar("T")

_MOST = 2_000


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        found.seconds = 0.2
        yield found


@pytest.fixture
def made(registry: TestRegistry) -> Callable[..., Converter]:
    def one(**options: str) -> Converter:
        given = {key.replace("_", "."): value for key, value in options.items()}
        found = converter("avro", {"schema.registry.url": registry.url, "compatibility": "NONE", **given}, is_key=False)
        found.for_topic("t")
        found.patience = 0.01
        return found

    return one


PENDING = "has not answered yet"


def insisted(call: Callable[[], T]) -> T:
    """What a call gives in the end, which has to be told at least once that there is no answer yet."""
    for told in range(_MOST):
        try:
            found = call()
        except SystemAway as error:
            if PENDING not in str(error):
                raise
            time.sleep((error.wait or 0) / 20)
        else:
            assert told
            return found
    pytest.fail("there is no answer, however often it is asked for")


def test_a_call_that_is_made_again_gets_what_the_first_one_asked_for(
    registry: TestRegistry, made: Callable[..., Converter]
) -> None:
    writer = made()
    data = insisted(lambda: writer.encode_many([{"a": 1}], ROW))
    asked = ["GET", "POST", "POST", "POST", "PUT"]
    assert sorted(request.partition(" ")[0] for request in registry.requests) == asked
    reader = made()
    assert insisted(lambda: reader.decode(data[0])) == ({"a": 1}, ROW)
    assert reader.decode_many(data) == ([{"a": 1}], ROW)
    assert registry.requests[len(asked) :] == ["GET /schemas/ids/1"]


def test_answers_for_others_are_kept_until_they_are_asked_for(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    """As with the queues of a sink, which take turns."""
    writer = made()
    insisted(lambda: writer.encode({"a": 1}, ROW))
    insisted(lambda: writer.encode({"a": "x"}, OTHER))
    reader, asked = made(), len(registry.requests)
    registry.seconds = 0.4
    left = {b"\x00\x00\x00\x00\x01\x02": {"a": 1}, b"\x00\x00\x00\x00\x02\x02x": {"a": "x"}}
    while left:
        for message, value in list(left.items()):
            try:
                assert reader.decode(message)[0] == value
            except SystemAway:
                continue
            del left[message]
    assert sorted(registry.requests[asked:]) == ["GET /schemas/ids/1", "GET /schemas/ids/2"]


def test_what_is_wrong_is_told_when_the_answer_is_there(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    strict = made(auto_register_schemas="false")
    with pytest.raises(PermanentError, match="does not have this schema"):
        insisted(lambda: strict.encode({"a": 1}, ROW))
    reader = made()
    for _ in range(3):
        with pytest.raises(RecordError, match="has no schema 9"):
            insisted(lambda: reader.decode(b"\x00\x00\x00\x00\x09x"))
        reader.patience = None
    assert registry.requests.count("GET /schemas/ids/9") == 1


def test_a_registry_that_was_away_is_asked_again(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    writer = made()
    registry.fault = Response("", 503)
    with pytest.raises(SystemAway, match="answers 503"):
        insisted(lambda: writer.encode({"a": 1}, ROW))
    registry.fault = None
    assert insisted(lambda: writer.encode({"a": 1}, ROW))


def test_without_patience_it_is_waited_for(made: Callable[..., Converter]) -> None:
    one = made()
    one.patience = None
    assert one.decode(one.encode({"a": 1}, ROW)) == ({"a": 1}, ROW)

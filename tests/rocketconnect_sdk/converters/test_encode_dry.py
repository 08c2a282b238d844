"""What a preview shows of messages whose schemas are in a registry: nothing is registered for it."""

from collections.abc import Callable

import pytest

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.registry import Incompatible
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.registry.server import TestRegistry

ROW = struct([("a", Schema(Type.INT32))], name="shop.order")
BROKEN = struct([("a", STRING)], name="shop.order")


@pytest.fixture
def made(registry: TestRegistry) -> Callable[..., Converter]:
    def one(**options: str) -> Converter:
        given = {key.replace("_", "."): value for key, value in options.items()}
        found = converter("avro", {"schema.registry.url": registry.url, **given}, is_key=False)
        found.for_topic("t")
        return found

    return one


def test_a_schema_that_is_new_has_the_id_0_and_is_not_registered(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    one = made(compatibility="FULL")
    assert [one.encode_dry({"a": number}, ROW) for number in (1, 2)] == [b"\x00\x00\x00\x00\x00\x02", b"\x00\x00\x00\x00\x00\x04"]
    assert (registry.store.schemas, registry.store.levels) == ([], {})
    assert registry.requests == ["POST /subjects/t-value"]
    assert one.encode({"a": 1}, ROW) == b"\x00\x00\x00\x00\x01\x02"


def test_a_schema_that_is_there_has_its_id(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    made(compatibility="NONE").encode({"a": "x"}, BROKEN)
    data = made(compatibility="NONE").encode({"a": 1}, ROW)
    assert made().encode_dry({"a": 1}, ROW) == data == b"\x00\x00\x00\x00\x02\x02"


def test_what_would_be_refused_is_told(registry: TestRegistry, made: Callable[..., Converter]) -> None:
    made().encode({"a": 1}, ROW)
    with pytest.raises(Incompatible, match="not compatible"):
        made().encode_dry({"a": "x"}, BROKEN)
    with pytest.raises(PermanentError, match="does not have this schema"):
        made(auto_register_schemas="false").encode_dry({"a": "x"}, BROKEN)
    with pytest.raises(RecordError, match="a: a str is no whole number"):
        made().encode_dry({"a": "x"}, ROW)
    # Under another level it may be taken: what the registry says now is not asked.
    assert made(compatibility="NONE").encode_dry({"a": "x"}, BROKEN) == b"\x00\x00\x00\x00\x00\x02x"
    assert registry.store.subjects == {"t-value": [1]}

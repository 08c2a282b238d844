"""What Confluent's own Python library writes is read, and the other way round: over the same registry."""

import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.protobuf.files import compiled, message_class
from rocketconnect_sdk.converters.protobuf.form import head
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.registry.server import TestRegistry

with warnings.catch_warnings():
    # Its modules for OAuth are older than what they use.
    warnings.simplefilter("ignore")
    import confluent_kafka.schema_registry as confluent

ROW = struct(
    [
        ("id", Schema(Type.INT64)),
        ("name", Schema(Type.STRING, optional=True)),
        ("price", decimal(2, precision=9)),
        ("day", Schema(Type.DATE)),
        ("at", timestamp(Unit.MILLISECONDS)),
        ("uid", Schema(Type.UUID)),
        ("tags", Schema(Type.ARRAY, items=STRING)),
        ("counts", Schema(Type.MAP, keys=STRING, items=Schema(Type.INT32))),
        ("inner", struct([("x", Schema(Type.FLOAT64))], name="inner")),
    ],
    name="shop.order",
)
VALUE = {
    "id": 1 << 62,
    "name": "ü",
    "price": Decimal("-1.25"),
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 1, 2, 3, 4000, UTC),
    "uid": UUID(int=7),
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "inner": {"x": 0.5},
}
PLAIN = struct([("id", Schema(Type.INT64)), ("name", Schema(Type.STRING, optional=True))], name="plain")


@pytest.fixture
def client(registry: TestRegistry) -> Iterator[Any]:
    with confluent.SchemaRegistryClient({"url": registry.url}) as found:
        yield found


def ours(name: str, registry: TestRegistry, **options: str) -> Converter:
    made = converter(name, {"schema.registry.url": registry.url, **options}, is_key=False)
    made.for_topic("t")
    return made


def place() -> Any:
    from confluent_kafka.serialization import MessageField, SerializationContext

    return SerializationContext("t", MessageField.VALUE)


def test_avro_of_ours_is_read_by_confluents_library(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.avro import AvroDeserializer

    data = ours("avro", registry).encode(VALUE, ROW)
    found = AvroDeserializer(client)(data, place())
    assert found == VALUE


def test_avro_of_confluents_library_is_read(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.avro import AvroSerializer

    text = (
        '{"type":"record","name":"order","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"]},'
        '{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},'
        '{"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},'
        '{"name":"uid","type":{"type":"string","logicalType":"uuid"}},{"name":"tags","type":{"type":"array","items":"string"}},'
        '{"name":"counts","type":{"type":"map","values":"int"}},'
        '{"name":"inner","type":{"type":"record","name":"inner","namespace":"","fields":[{"name":"x","type":"double"}]}}]}'
    )
    data = AvroSerializer(client, text)(VALUE, place())
    assert ours("avro", registry).decode(data) == (VALUE, ROW)
    # The subject is the same: what it has registered is what ours would be checked against.
    assert list(registry.store.subjects) == ["t-value"]
    assert ours("avro", registry).encode(VALUE, ROW)


def test_json_of_ours_is_read_by_confluents_library(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer

    data = ours("json_schema", registry).encode({"id": 1, "name": None}, PLAIN)
    found = JSONDeserializer(None, schema_registry_client=client)(data, place())
    assert found == {"id": 1, "name": None}


def test_json_of_confluents_library_is_read(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.json_schema import JSONSerializer

    text = '{"title":"plain","type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"]}'
    data = JSONSerializer(text, client)({"id": 1, "name": "x"}, place())
    assert ours("json_schema", registry).decode(data) == ({"id": 1, "name": "x"}, PLAIN)
    data = JSONSerializer(text, client)({"id": 1}, place())
    assert ours("json_schema", registry).decode(data) == ({"id": 1, "name": None}, PLAIN)


def test_protobuf_of_ours_is_read_by_confluents_library(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer

    data = ours("protobuf", registry).encode(VALUE, ROW)
    kind = message_class(compiled(registry.store.by_id(1).text, {}).message_types_by_name["order"])
    found = ProtobufDeserializer(kind, {}, client)(data, place())
    assert (found.id, found.name, found.uid, found.tags, found.counts) == (1 << 62, "ü", str(UUID(int=7)), ["a", "b"], {"x": 1})
    assert (found.price.value, found.price.precision, found.price.scale) == (b"\x83", 3, 2)
    assert (found.day.year, found.day.month, found.day.day) == (2024, 2, 29)
    assert found.at.ToDatetime(UTC) == VALUE["at"]
    assert found.inner.x == 0.5


def test_protobuf_of_confluents_library_is_read(registry: TestRegistry, client: Any) -> None:
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer

    ours("protobuf", registry).encode(VALUE, ROW)
    kind = message_class(compiled(registry.store.by_id(1).text, {}).message_types_by_name["order"])
    message: Any = kind(id=1 << 62, name="ü", uid=str(UUID(int=7)), tags=["a", "b"], counts={"x": 1}, inner={"x": 0.5})
    message.price.value, message.price.precision, message.price.scale = b"\x83", 3, 2
    message.day.year, message.day.month, message.day.day = 2024, 2, 29
    message.at.FromDatetime(VALUE["at"])
    config = {"auto.register.schemas": False, "use.latest.version": True}
    data = ProtobufSerializer(kind, client, config)(message, place())
    assert ours("protobuf", registry).decode(data) == (VALUE, ROW)


@pytest.mark.parametrize("indexes", [[0], [1], [0, 0], [3, 70, 9000]])
def test_the_place_of_a_message_is_written_as_confluents_library_writes_it(indexes: list[int]) -> None:
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer

    out = BytesIO()
    ProtobufSerializer._encode_varints(out, indexes)
    assert head(indexes) == out.getvalue()

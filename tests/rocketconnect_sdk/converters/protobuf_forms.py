"""Schemas as Protobuf has them, and the converter with a registry."""

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.protobuf.converter import ProtobufFile
from rocketconnect_sdk.converters.protobuf.files import compiled
from rocketconnect_sdk.converters.protobuf.text import to_proto
from rocketconnect_sdk.schema import BYTES, OPTIONAL_STRING, STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.registry.server import TestRegistry

INT = Schema(Type.INT32)
PROTO3 = 'syntax = "proto3"; '

ROW = struct(
    [
        ("i", Schema(Type.INT8)),
        ("u", Schema(Type.UINT64)),
        ("f", Schema(Type.FLOAT32)),
        ("t", STRING),
        ("b", BYTES),
        ("d", decimal(2, precision=4)),
        ("at", timestamp(Unit.MILLISECONDS)),
        ("o", OPTIONAL_STRING),
        ("l", Schema(Type.ARRAY, items=INT)),
        ("m", Schema(Type.MAP, keys=INT, items=struct([("x", Schema(Type.TIME))]))),
        ("n", Schema(Type.MAP, keys=Schema(Type.INT16), items=OPTIONAL_STRING)),
    ],
    name="row",
)


def ours(schema: Schema) -> ProtobufFile:
    return ProtobufFile(compiled(to_proto(schema), {}))


def read(text: str, **references: str) -> ProtobufFile:
    return ProtobufFile(compiled(PROTO3 + text, references))


def made(registry: TestRegistry, **options: str) -> Converter:
    given_options = {key.replace("_", "."): value for key, value in options.items()}
    found = converter("protobuf", {"schema.registry.url": registry.url, **given_options}, is_key=False)
    found.for_topic("t")
    return found

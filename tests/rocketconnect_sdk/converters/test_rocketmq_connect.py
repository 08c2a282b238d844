"""What RocketMQ Connect's converters wrote is read, and what is written here is what they read.

Its jars are in no Maven repository, so both directions are recorded; see the origin in the file.
"""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from rocketconnect_sdk.converters import BUILT_IN, converter, converter_class
from rocketconnect_sdk.schema import BYTES, DATE, STRING, TIME, TIMESTAMP, Schema, Type, decimal, struct

RECORDED = json.loads(Path(__file__).with_name("rocketmq_connect_examples.json").read_text())
EXAMPLES = RECORDED["examples"]

ORDER = {
    "id": 7,
    "name": None,
    "small": -1,
    "short": 300,
    "ratio": 0.1,
    "ok": True,
    "data": b"\x01\x02\xfe",
    "tags": ["a", "ü"],
    "counts": {"k": 5},
    "byid": {9: "nine"},
    "inner": {"x": 1},
}
VALUES = {
    "string.text": "Grüße, 世界 😀",
    "string.empty": "",
    "string.int": "42",
    "string.bool": "true",
    "bytes.some": b"\x00\x01\xff\x7f",
    "short.min": -32768,
    "integer.some": -123456789,
    "long.max": (1 << 63) - 1,
    "float.some": 1.5,
    "double.pi": 3.141592653589793,
    "json.struct": ORDER,
    "plain.struct": {**ORDER, "data": "AQL+", "byid": [[9, "nine"]]},
    "json.string": "line",
    "json.noschema": "line",
    "json.noschemamap": {"a": 1, "b": [1.5, True]},
    "json.optionalnull": None,
    "json.decimal": Decimal("10.2345"),
    "json.decimalnegative": Decimal("-1.28"),
    "json.decimalnumeric": Decimal("10.2345"),
    "json.date": date(2022, 1, 8),
    "json.time": 3_723_004,
    "json.timestamp": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC),
    "json.float": 1.25,
    "json.default": 5,
    "json.unicode": '\x00"\\\n😀</script>',
}
ROW = struct(
    [
        ("id", Schema(Type.INT64)),
        ("name", Schema(Type.STRING, optional=True)),
        ("data", BYTES),
        ("tags", Schema(Type.ARRAY, items=STRING)),
        ("byid", Schema(Type.MAP, keys=Schema(Type.INT32), items=STRING)),
        ("price", decimal(2)),
        ("day", Schema(Type.INT32, name=DATE, version=1)),
        ("at", Schema(Type.INT32, name=TIME, version=1)),
        ("when", Schema(Type.INT64, name=TIMESTAMP, version=1)),
        ("ratio", Schema(Type.FLOAT64)),
        ("inner", struct([("x", Schema(Type.INT8))], name="inner")),
    ],
    name="row",
)
READ_THERE: list[tuple[str, object, Schema | None]] = [
    ("string", "Grüße\n😀", None),
    ("string", 42, None),
    ("bytes", b"\x00\xff", None),
    ("short", -2, None),
    ("integer", 1 << 30, None),
    ("long", -(1 << 63), None),
    ("float", 1.5, None),
    ("double", 0.1, None),
    ("json", "line", STRING),
    ("json", {"a": [1, None, 2.5]}, None),
    (
        "json",
        {
            "id": 7,
            "name": None,
            "data": b"\x01\xfe",
            "tags": ["a", "ü"],
            "byid": {9: "nine"},
            "price": Decimal("-12.34"),
            "day": date(2022, 1, 8),
            "at": time(1, 2, 3, 4000),
            "when": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC),
            "ratio": 0.1,
            "inner": {"x": -5},
        },
        ROW,
    ),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_rocketmq_connect_wrote_is_read(name: str) -> None:
    kind = name.partition(".")[0]
    options = {"schemas.enable": "false"} if kind == "plain" else {}
    reader = converter("json" if kind == "plain" else kind, options, is_key=False)
    assert reader.decode(bytes.fromhex(EXAMPLES[name]))[0] == VALUES[name]


def test_every_recorded_example_has_an_expected_value() -> None:
    assert EXAMPLES.keys() == VALUES.keys()


@pytest.mark.parametrize("number", range(len(READ_THERE)))
def test_what_is_written_is_what_rocketmq_connect_read(number: int) -> None:
    """The recorded bytes were read by its own converters as the value in "as"."""
    name, value, schema = READ_THERE[number]
    recorded = RECORDED["read_there"][number]
    assert recorded["converter"] == name
    assert converter(name, {}, is_key=False).encode(value, schema).hex() == recorded["bytes"]


def test_its_schema_comes_along() -> None:
    schema = converter("json", {}, is_key=False).decode(bytes.fromhex(EXAMPLES["json.struct"]))[1]
    assert schema is not None
    assert (schema.name, schema.version, schema.doc) == ("orders", 3, "An order")
    assert [field.name for field in schema.fields] == list(ORDER)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_class_names_of_rocketmq_connect_are_aliases(name: str) -> None:
    java = {"bytes": "ByteArray", "json": "json.Json"}.get(name, name.capitalize()) + "Converter"
    expected = converter_class(name)
    assert converter_class(f"org.apache.rocketmq.connect.runtime.converter.record.{java}") is expected
    assert converter_class(java.rpartition(".")[2]) is expected

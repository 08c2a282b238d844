"""What RocketMQ Connect's converters wrote is read, and what is written here is what they read.

Its runtime is in no Maven repository, so both directions are recorded: see rocketmq_connect.py beside this file.
"""

import json
from typing import Any

import pytest

from rocketconnect_sdk.converters import BUILT_IN, converter_class
from rocketconnect_sdk.schema import Schema, Type
from tests.rocketconnect_sdk.converters.interoperability.connect_data import had, ours, sorted_maps
from tests.rocketconnect_sdk.converters.interoperability.rocketmq_connect import (
    PACKAGE,
    RECORDED,
    REFUSED_THERE,
    WRITTEN_HERE,
    here,
)

EXAMPLES = json.loads(RECORDED.read_text(encoding="utf-8"))
WRITTEN = {f"{example['converter']} {example['name']}": example for example in EXAMPLES["written_there"]}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_rocketmq_connect_wrote_is_read(name: str) -> None:
    """With an envelope also the schema, with all that it says."""
    example = WRITTEN[name]
    value, schema = here(example["converter"]).decode(bytes.fromhex(example["written"]))
    if example["converter"] == "plain":
        assert value == PLAIN
        return
    assert repr(value) == repr(ours(example["value"], schema)), "also of the same type"
    if example["converter"] in ("json", "numeric"):
        found = {"schema": None, "value": example["value"]} if schema is None else had(schema, value, PACKAGE)
        assert sorted_maps(found) == sorted_maps({key: example[key] for key in ("schema", "value")})


PLAIN = {
    "id": 7,
    "name": None,
    "price": "BAE=",
    "day": None,
    "at": 3723004,
    "when": 1700000000123,
    "ratio": 0.1,
    "ok": True,
    "data": "AQL+",
    "tags": ["a", "ü"],
    "byid": [[9, "nine"]],
    "inner": {"x": 1},
}


@pytest.mark.parametrize("number", range(len(WRITTEN_HERE)))
def test_what_is_written_is_what_rocketmq_connect_read(number: int) -> None:
    """The recorded message, and what RocketMQ Connect had of it."""
    name, schema, value = WRITTEN_HERE[number]
    example = EXAMPLES["read_there"][number]
    assert example["converter"] == name
    assert here(name).encode(value, schema).hex() == example["message"]
    if schema is None:
        assert ours(example["value"]) == (str(value) if name == "string" else value)
    elif types_of(schema) & REFUSED_THERE[name]:
        assert "error" in example
    else:
        found = {key: example[key] for key in ("schema", "value")}
        assert found == all_optional(sorted_maps(had(schema, value, PACKAGE))), "to it nothing that it reads is required"


def all_optional(shown: Any) -> Any:
    if isinstance(shown, dict):
        return {key: True if key == "optional" else all_optional(part) for key, part in shown.items()}
    return [all_optional(part) for part in shown] if isinstance(shown, list) else shown


def types_of(schema: Schema) -> set[Type]:
    return {schema.type}.union(*(types_of(field.schema) for field in schema.fields))


@pytest.mark.parametrize(
    "name", sorted(BUILT_IN.keys() - {"arrow", "avro", "json_schema", "protobuf", "canal", "maxwell", "cloudevents"})
)
def test_the_class_names_of_rocketmq_connect_are_aliases(name: str) -> None:
    java = {"bytes": "ByteArray", "json": "json.Json"}.get(name, name.capitalize()) + "Converter"
    expected = converter_class(name)
    assert converter_class(f"org.apache.rocketmq.connect.runtime.converter.record.{java}") is expected
    assert converter_class(java.rpartition(".")[2]) is expected

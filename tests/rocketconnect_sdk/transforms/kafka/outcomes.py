"""What becomes of a record here, and with Kafka's own transforms, in the same words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import ConfigError, RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms.base import Record, in_order, one_by_one
from rocketconnect_sdk.transforms.chain import make
from tests.rocketconnect_sdk.transforms.kafka.generated import Given
from tests.rocketconnect_sdk.transforms.kafka.peer import Kafka

_OPTIONS = {"names": "kafka", "replace.null.with.default": "false"}


Made = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a record.

    Attributes:
        error: Why it is none, or why the configuration is wrong.
        made: Of the record, or of what the predicate says; None: it is dropped.
    """

    error: str = ""
    made: Made | None = None


def json_of(*, has_schemas: bool, is_key: bool) -> Converter:
    """The converter that both sides read and write with."""
    return converter("json", {**_OPTIONS, "schemas.enable": str(has_schemas).lower()}, is_key=is_key)


def question(given: Given) -> dict[str, Any]:
    """For Kafka."""
    texts = {
        name: None if value is None else json_of(has_schemas=given.has_schemas, is_key=name == "key").encode(value, schema).decode()
        for name, (value, schema) in {"key": given.key, "value": given.value}.items()
    }
    return {
        "class": given.kind,
        "config": given.config,
        "topic": given.topic,
        "timestamp": given.timestamp,
        "headers": list(given.headers.items()),
        "schemas": given.has_schemas,
        **texts,
    }


def kafkas(kafka: Kafka, asked: Mapping[str, Any]) -> Outcome:
    """What becomes of it there."""
    answer = kafka.ask(**asked)
    if "error" in answer:
        return Outcome(error=answer["error"])
    if "dropped" in answer:
        return Outcome()
    if "chosen" in answer:
        return Outcome(made={"chosen": answer["chosen"]})
    read = {name: _read(answer[name], has_schemas=answer[f"{name}_schemas"], is_key=name == "key") for name in ("key", "value")}
    return Outcome(made={"topic": answer["topic"], "timestamp": answer["timestamp"], "headers": dict(answer["headers"]), **read})


def ours(asked: Mapping[str, Any]) -> Outcome:
    """What becomes of it here."""
    options = {f"transforms.t.{key}": text for key, text in asked["config"].items()}
    is_predicate = ".predicates." in asked["class"]
    raw = {"transforms": "t", "transforms.t.type": asked["class"], **options}
    if is_predicate:
        raw = {"transforms": "t", "transforms.t.type": "filter", "transforms.t.predicate": "p", "predicates": "p"}
        raw |= {"predicates.p.type": asked["class"], **{f"predicates.p.{key}": text for key, text in asked["config"].items()}}
    try:
        chain = make(raw)
    except ConfigError as error:
        return Outcome(error=str(error))
    try:
        done = chain.run(in_order([(0, _record(asked))])[0])
    finally:
        chain.close()
    if done.failed:
        failed = done.failed[0].error
        assert isinstance(failed, RecordError), repr(failed)
        return Outcome(error=str(failed))
    records = [record for _, record in one_by_one(done.runs)]
    if is_predicate:
        return Outcome(made={"chosen": not records})
    if not records:
        return Outcome()
    (record,) = records
    made = {"key": (record.key, record.key_schema), "value": (record.value, record.schema)}
    read = {name: _written(*each, is_key=name == "key") for name, each in made.items()}
    return Outcome(made={"topic": record.topic, "timestamp": record.timestamp_ms, "headers": dict(record.headers), **read})


def _record(asked: Mapping[str, Any]) -> Record:
    parts = [_decoded(asked[name], has_schemas=asked["schemas"], is_key=name == "key") for name in ("key", "value")]
    (key, key_schema), (value, schema) = parts
    return Record(value, schema, key, key_schema, asked["topic"], asked["timestamp"], dict(asked["headers"]))


def _decoded(text: str | None, *, has_schemas: bool, is_key: bool) -> tuple[Any, Schema | None]:
    if text is None:
        return None, None
    return json_of(has_schemas=has_schemas, is_key=is_key).decode(text.encode())


def _read(text: str | None, *, has_schemas: bool, is_key: bool) -> tuple[Any, Schema | None]:
    value, schema = _decoded(text, has_schemas=has_schemas, is_key=is_key)
    return _plain(value), None if value is None else schema


def _written(value: Any, schema: Schema | None, *, is_key: bool) -> tuple[Any, Schema | None]:
    """Written and read again, as it is for whoever gets it."""
    if value is None:
        return None, None
    text = json_of(has_schemas=schema is not None, is_key=is_key).encode(value, schema).decode()
    return _read(text, has_schemas=schema is not None, is_key=is_key)


def _plain(value: Any) -> Any:
    """With the names of maps in their order."""
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value, key=repr)}
    return [_plain(each) for each in value] if isinstance(value, list) else value

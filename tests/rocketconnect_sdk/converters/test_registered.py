"""Converters whose schemas are in a registry: subjects, what is registered when, and a registry that is away."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, reject, settings
from starlette.responses import JSONResponse, Response

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.converters import Converter, class_names, converter, converter_class
from rocketconnect_sdk.converters import registered as module
from rocketconnect_sdk.errors import ConfigError, PermanentError, RecordError, SystemAway
from rocketconnect_sdk.registry import Incompatible
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from tests.examples import some
from tests.registry.server import TestRegistry, shared_url
from tests.registry.store import Held
from tests.rocketconnect_sdk.typed_values import typed

INT = Schema(Type.INT32)
ROW = struct([("a", INT)], name="shop.order")
WIDER = struct([("a", INT), ("b", Schema(Type.STRING, optional=True))], name="shop.order")
BROKEN = struct([("a", STRING)], name="shop.order")

Make = Callable[..., Converter]


@pytest.fixture
def make(registry: TestRegistry) -> Make:
    def one(*, is_key: bool = False, topic: str = "t", **options: str) -> Converter:
        given = {key.replace("_", "."): value for key, value in options.items()}
        made = converter("avro", {"schema.registry.url": registry.url, **given}, is_key=is_key)
        made.for_topic(topic)
        return made

    return one


def test_a_message_begins_with_a_zero_and_the_id(registry: TestRegistry, make: Make) -> None:
    assert make().encode({"a": 1}, ROW) == b"\x00\x00\x00\x00\x01\x02"
    assert make().decode(b"\x00\x00\x00\x00\x01\x02") == ({"a": 1}, ROW)


def test_the_id_may_have_eight_bytes(make: Make) -> None:
    wide = make(schema_registry_id_size="8")
    data = wide.encode({"a": 1}, ROW)
    assert data == b"\x00" + bytes(7) + b"\x01\x02"
    assert wide.decode(data) == ({"a": 1}, ROW)
    with pytest.raises(RecordError, match="the 8 bytes of a schema's id"):
        wide.decode(b"\x00\x00\x00\x00\x01\x02")


@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("topic", False, "t-value"),
        ("topic", True, "t-key"),
        ("record", False, "shop.order"),
        ("topic_record", True, "t-shop.order"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", False, "shop.order"),
    ],
)
def test_the_strategy_says_the_subject(registry: TestRegistry, make: Make, strategy: str, is_key: bool, subject: str) -> None:
    make(is_key=is_key, subject_name_strategy=strategy).encode({"a": 1}, ROW)
    assert list(registry.store.subjects) == [subject]


def test_each_topic_has_its_subject(registry: TestRegistry, make: Make) -> None:
    one = make()
    first = one.encode({"a": 1}, ROW)
    one.for_topic("other")
    assert one.encode({"a": 1}, ROW) == first
    assert list(registry.store.subjects) == ["t-value", "other-value"]


def test_the_record_strategy_wants_a_record(make: Make) -> None:
    with pytest.raises(RecordError, match=r"subject.name.strategy=record is for records with a name, and this is a string"):
        make(subject_name_strategy="record").encode("x", STRING)


def test_a_schema_is_registered_once_and_asked_for_no_more(registry: TestRegistry, make: Make) -> None:
    one = make()
    one.encode({"a": 1}, ROW)
    asked = len(registry.requests)
    one.encode_many([{"a": 2}, {"a": 3}], ROW)
    one.decode(one.encode({"a": 4}, ROW))
    one.decode_many([one.encode({"a": 4}, ROW)] * 2)
    assert registry.requests[asked:] == ["GET /schemas/ids/1"]


def test_a_schema_that_is_there_is_not_registered_again(registry: TestRegistry, make: Make) -> None:
    make().encode({"a": 1}, ROW)
    registry.requests.clear()
    make().encode({"a": 1}, ROW)
    assert registry.requests == ["POST /subjects/t-value"]


def test_a_version_that_fits_becomes_the_next_and_old_messages_are_read_as_they_were(registry: TestRegistry, make: Make) -> None:
    old = make().encode({"a": 1}, ROW)
    new = make().encode({"a": 1, "b": "x"}, WIDER)
    assert registry.store.subjects == {"t-value": [1, 2]}
    reader = make()
    assert [reader.decode(old), reader.decode(new)] == [({"a": 1}, ROW), ({"a": 1, "b": "x"}, WIDER)]
    with pytest.raises(RecordError, match="2 different schemas"):
        reader.decode_many([old, new])


def test_a_version_that_does_not_fit_stops_the_task_with_the_reason_and_is_not_registered(
    registry: TestRegistry, make: Make
) -> None:
    make().encode({"a": 1}, ROW)
    with pytest.raises(Incompatible, match=r"the subject t-value, which is not compatible.*TYPE_MISMATCH"):
        make().encode({"a": "x"}, BROKEN)
    assert registry.store.subjects == {"t-value": [1]}


def test_the_compatibility_is_set_before_a_schema_is_registered(registry: TestRegistry, make: Make) -> None:
    make(compatibility="NONE").encode({"a": 1}, ROW)
    assert registry.store.levels == {"t-value": "NONE"}
    assert make(compatibility="NONE").encode({"a": "x"}, BROKEN)
    registry.requests.clear()
    make().encode({"a": "x"}, BROKEN)
    assert not any("config" in request for request in registry.requests)


def test_without_auto_register_a_schema_that_is_missing_is_told(registry: TestRegistry, make: Make) -> None:
    strict = make(auto_register_schemas="false")
    with pytest.raises(
        PermanentError, match=r"does not have this schema under the subject t-value, and auto.register.schemas=false"
    ):
        strict.encode({"a": 1}, ROW)
    assert registry.store.subjects == {}
    data = make().encode({"a": 1}, ROW)
    assert strict.encode({"a": 1}, ROW) == data


def test_the_latest_version_is_what_is_written_with(registry: TestRegistry, make: Make) -> None:
    latest = make(auto_register_schemas="false", use_latest_version="true")
    with pytest.raises(PermanentError, match="has no subject t-value"):
        latest.encode({"a": 1}, ROW)
    make().encode({"a": 1}, ROW)
    make().encode({"a": 1}, WIDER)
    data = latest.encode({"a": 1}, ROW)
    assert latest.decode(data) == ({"a": 1, "b": None}, WIDER)
    with pytest.raises(RecordError, match="a: a str is no whole number"):
        latest.encode({"a": "x"}, BROKEN)


FAULTS: list[Callable[[], Response]] = [
    lambda: JSONResponse({"error_code": 50001, "message": "store"}, 503),
    lambda: Response("<html>", media_type="text/html"),
    lambda: Response("", 429),
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("after", range(6))
def test_wherever_the_registry_goes_away_the_same_call_succeeds_once_it_is_back(
    registry: TestRegistry, make: Make, fault: Callable[[], Response], after: int
) -> None:
    """It goes away behind so many requests."""
    one = make(compatibility="FULL")
    registry.fault_after, registry.fault = after, fault()
    if after < 5:
        with pytest.raises(SystemAway, match=registry.url):
            one.encode_many([{"a": 1}], ROW)
    registry.fault = None
    (data,) = one.encode_many([{"a": 1}], ROW)
    registry.fault, registry.fault_after = fault(), 0
    with pytest.raises(SystemAway):
        one.decode(data)
    with pytest.raises(SystemAway):
        one.decode_many([data, data])
    registry.fault = None
    assert one.decode(data) == ({"a": 1}, ROW)
    assert (registry.store.subjects, registry.store.levels) == ({"t-value": [1]}, {"t-value": "FULL"})


def test_what_is_known_is_written_and_read_while_the_registry_is_away(registry: TestRegistry, make: Make) -> None:
    one = make()
    data = one.encode({"a": 1}, ROW)
    one.decode(data)
    registry.fault = Response("", 503)
    assert one.decode(one.encode({"a": 1}, ROW)) == ({"a": 1}, ROW)


def test_an_id_that_nobody_knows_is_a_bad_record_and_is_not_asked_for_each_time(
    registry: TestRegistry, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make()
    for _ in range(10):
        with pytest.raises(RecordError, match="has no schema 9"):
            one.decode(b"\x00\x00\x00\x00\x09x")
    assert registry.requests == ["GET /schemas/ids/9"]
    monkeypatch.setattr(module, "_UNKNOWN_SECONDS", 0.0)
    again = make()
    for _ in range(2):
        with pytest.raises(RecordError):
            again.decode(b"\x00\x00\x00\x00\x09x")
        time.sleep(0.001)
    assert len(registry.requests) == 3


def test_a_schema_of_another_type_is_a_bad_record(registry: TestRegistry, make: Make) -> None:
    registry.store.register("s", Held("JSON", "{}"))
    with pytest.raises(RecordError, match="it is of the type JSON, and the converter avro reads AVRO"):
        make().decode(b"\x00\x00\x00\x00\x01")


def test_a_schema_that_refers_to_others_is_read_with_them(registry: TestRegistry, make: Make) -> None:
    registry.store.register("part", Held("AVRO", '{"type":"record","name":"n.part","fields":[{"name":"x","type":"int"}]}'))
    registry.store.register("whole", Held("AVRO", '["null","n.part"]', (("n.part", "part", 1),)))
    value, schema = make().decode(b"\x00\x00\x00\x00\x02\x02\x0e")
    assert value == {"x": 7}
    assert schema is not None
    assert (schema.name, schema.optional) == ("n.part", True)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00\x00", b'{"a":1}', b"\x01\x00\x00\x00\x01\x02"])
def test_a_message_that_was_not_written_with_a_registry_is_told(make: Make, data: bytes) -> None:
    with pytest.raises(RecordError, match="it was not written with a schema registry"):
        make().decode(data)


@pytest.mark.parametrize(
    "schema",
    [
        Schema(Type.INT32, name="io.debezium.time.Date"),
        Schema(Type.STRING, parameters=(("a", "1"), ("a", "2"))),
        Schema(Type.INT32, default="x"),
        Schema(Type.FLOAT64, default=float("nan")),
        Schema(Type.ARRAY),
    ],
)
@pytest.mark.parametrize("name", ["avro", "json_schema"])
def test_a_schema_that_would_come_back_as_another_one_is_refused_and_not_registered(
    registry: TestRegistry, name: str, schema: Schema
) -> None:
    one = converter(name, {"schema.registry.url": registry.url}, is_key=False)
    with pytest.raises(RecordError):
        one.encode(1, schema)
    assert registry.requests == []


@pytest.mark.parametrize("name", ["avro", "json_schema", "protobuf"])
@given(case=typed())
# Each example of Protobuf starts a compiler.
@settings(max_examples=some(40, 5))
def test_a_column_is_written_as_its_values_are(name: str, case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    one = converter(name, {"schema.registry.url": shared_url(), "compatibility": "NONE"}, is_key=False)
    one.for_topic("columns")
    try:
        column = Column(to_array([value] * 3, schema))
        alone = [one.encode(value, schema)] * 3
    except RecordError:
        # Arrow or the form has no such values.
        reject()
    assert one.encode_many(column, schema) == alone
    found, its_schema = one.decode_many(alone)
    assert (list(found), its_schema) == ([value] * 3, schema)


def test_keys_without_a_schema_have_that_of_their_type(make: Make) -> None:
    one = make(is_key=True)
    assert one.decode(one.encode("k", None)) == ("k", STRING)
    with pytest.raises(RecordError, match="a dict without a schema"):
        one.encode({"a": 1}, None)


def test_no_more_schemas_are_remembered_than_the_option_says(registry: TestRegistry, make: Make) -> None:
    one = make(schemas_cache_size="2", compatibility="NONE")
    for scale in range(6):
        data = one.encode(1, decimal(scale))
        one.decode(data)
    assert [len(held) for held in (one._writers, one._readers)] == [2, 2]  # type: ignore[attr-defined]
    assert one.decode(one.encode(1, decimal(0))) == (1, decimal(0))


def test_options_are_checked_at_once_and_a_registry_that_is_away_is_no_error() -> None:
    raw = {"connector.class": "file_source", "file": "x", "topic": "t", "value.converter": "avro"}
    url = {"value.converter.schema.registry.url": "http://127.0.0.1:1"}

    def problems(**more: str) -> list[str]:
        given = {f"value.converter.{key.replace('_', '.')}": value for key, value in more.items()}
        return [problem.key for problem in check_connector({**raw, **url, **given}).problems if "converter" in problem.key]

    assert problems() == []
    assert [problem.key for problem in check_connector(raw).problems if "converter" in problem.key] == [
        "value.converter.schema.registry.url"
    ]
    assert problems(compatibility="SIDEWARD") == ["value.converter.compatibility"]
    assert problems(use_latest_version="true") == ["value.converter.use.latest.version"]
    assert problems(use_latest_version="true", auto_register_schemas="false") == []
    assert problems(subject_name_strategy="mine") == ["value.converter.subject.name.strategy"]


def test_secrets_are_references_and_never_shown() -> None:
    key = "value.converter.basic.auth.user.info"
    raw = {
        "connector.class": "file_source",
        "file": "x",
        "topic": "t",
        "value.converter": "avro",
        "value.converter.schema.registry.url": "http://127.0.0.1:1",
    }
    checked = check_connector({**raw, key: "me:hunter2"})
    assert [problem.key for problem in checked.problems if "converter" in problem.key] == [key]
    assert not any("hunter2" in str(problem) for problem in checked.problems)
    assert key in checked.secret_keys
    assert not [p for p in check_connector({**raw, key: "${env:REGISTRY}"}).problems if "converter" in p.key]


def test_a_secret_that_was_resolved_is_used(registry: TestRegistry, make: Make) -> None:
    registry.user = "me:hunter2"
    assert make(basic_auth_user_info="me:hunter2").encode({"a": 1}, ROW)
    with pytest.raises(PermanentError, match="answers 401") as caught:
        make(basic_auth_user_info="me:wrong").encode({"a": 1}, ROW)
    assert "wrong" not in str(caught.value)


def test_confluents_class_name_is_understood() -> None:
    assert converter_class("io.confluent.connect.avro.AvroConverter") is converter_class("avro")
    assert class_names("avro") == ("io.confluent.connect.avro.AvroConverter", "AvroConverter")
    with pytest.raises(ConfigError, match=r"schema.registry.url: is required"):
        converter("AvroConverter", {}, is_key=False)

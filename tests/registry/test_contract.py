"""What the registry of the tests has in common with a real one (Apicurio), as far as the converters depend on it."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.registry import OPTIONS, Incompatible, Reference, RegisteredSchema, Registry
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from tests.registry import server
from tests.servers import apicurio

ROW = struct([("id", Schema(Type.UINT64)), ("name", Schema(Type.STRING, optional=True)), ("price", decimal(2))], name="shop.order")
VALUE = {"id": 1 << 63, "name": None, "price": 5}


@pytest.fixture(scope="module", params=["ours", pytest.param("apicurio", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "ours":
        with server.running() as registry:
            yield registry.url
        return
    try:
        with apicurio.running() as found:
            yield found
    except apicurio.ApicurioFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def registry(url: str) -> Registry:
    return Registry(parse(OPTIONS, {"schema.registry.url": url}))


@pytest.fixture
def subject() -> str:
    return f"s-{uuid4()}"


def avro(subject: str, *fields: str) -> RegisteredSchema:
    """The name makes it one that no other test has."""
    listed = [{"name": field.rstrip("?"), "type": "int", **({"default": 0} if field.endswith("?") else {})} for field in fields]
    name = subject.replace("-", "_")
    return RegisteredSchema("AVRO", json.dumps({"type": "record", "name": name, "fields": listed}))


def test_what_is_registered_is_found(registry: Registry, subject: str) -> None:
    schema = avro(subject, "x")
    number = registry.register(subject, schema)
    assert registry.register(subject, schema) == number == registry.find(subject, schema)
    assert json.loads(registry.by_id(number).text) == json.loads(schema.text)
    version = registry.version(subject)
    assert version is not None
    assert (version.number, version.id, version.schema.kind) == (1, number, "AVRO")
    assert registry.version(subject, 1) == version


def test_what_is_not_there_is_not_found(registry: Registry, subject: str) -> None:
    assert registry.version(subject) is None
    assert registry.find(subject, avro(subject, "x")) is None
    assert registry.conflicts(subject, avro(subject, "x")) == []
    registry.register(subject, avro(subject, "x"))
    assert registry.find(subject, avro(subject, "x", "y?")) is None
    assert registry.version(subject, 7) is None
    with pytest.raises(RecordError, match="has no schema 987654"):
        registry.by_id(987654)


@pytest.mark.parametrize(
    ("level", "added", "dropped"),
    [("BACKWARD", False, True), ("FORWARD", True, False), ("FULL", False, False), ("NONE", True, True)],
)
def test_the_level_of_a_subject_says_what_may_change(
    registry: Registry, subject: str, level: str, added: bool, dropped: bool
) -> None:
    registry.register(subject, avro(subject, "x", "y"))
    assert registry.set_compatibility(subject, level)
    assert registry.compatibility(subject) == level
    for changed, fits in ((avro(subject, "x", "y", "z"), added), (avro(subject, "x"), dropped)):
        assert (not registry.conflicts(subject, changed)) is fits
        if not fits:
            with pytest.raises(Incompatible, match=subject):
                registry.register(subject, changed)


def test_references_are_given_back(registry: Registry, subject: str) -> None:
    part = avro(subject, "x")
    registry.register(subject, part)
    name = json.loads(part.text)["name"]
    whole = RegisteredSchema("AVRO", json.dumps({"type": "array", "items": name}), (Reference(name, subject, 1),))
    found = registry.by_id(registry.register(f"{subject}-whole", whole))
    assert (json.loads(found.text), found.references) == (json.loads(whole.text), whole.references)


def test_a_schema_that_is_none_is_refused_for_good(registry: Registry, subject: str) -> None:
    with pytest.raises(PermanentError, match=subject):
        registry.register(subject, RegisteredSchema("AVRO", '{"type":"no"}'))


@pytest.mark.parametrize("level", ["FULL", "NONE"])
@pytest.mark.parametrize(
    ("name", "value", "schema"),
    [
        ("avro", VALUE, ROW),
        ("avro", "line", STRING),
        ("json_schema", VALUE, ROW),
        ("protobuf", VALUE, ROW),
        ("protobuf", "line", STRING),
    ],
)
def test_converters_write_and_read_over_it(
    url: str, subject: str, registry: Registry, name: str, value: object, schema: Schema, level: str
) -> None:
    def make() -> Converter:
        made = converter(name, {"schema.registry.url": url, "compatibility": level}, is_key=False)
        made.for_topic(subject)
        return made

    data = make().encode(value, schema)
    assert make().encode(value, schema) == data
    assert make().decode(data) == (value, schema)
    assert make().decode_many([data, data]) == ([value, value], schema)
    assert registry.compatibility(f"{subject}-value") == level

"""Every converter that comes with the SDK passes the suite of converters."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.conformance import ConverterCase, ConverterSuite
from rocketconnect_sdk.converters import BUILT_IN, converter_class
from rocketconnect_sdk.converters.changes.envelopes import Change, Told
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, decimal, struct, timestamp
from tests.examples import some
from tests.registry.server import shared_url

ROW = struct(
    [
        ("id", Schema(Type.UINT64)),
        ("name", Schema(Type.STRING, optional=True)),
        ("price", decimal(2)),
        ("day", Schema(Type.DATE)),
        ("at", timestamp()),
        ("uid", Schema(Type.UUID)),
        ("tags", Schema(Type.ARRAY, items=STRING)),
    ],
    name="order",
)
VALUE = {
    "id": 1 << 63,
    "name": None,
    "price": Decimal("-1.25"),
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 1, 2, 3, 4, UTC),
    "uid": UUID(int=7),
    "tags": ["a", "ü"],
}
TOLD = Told("canal", "d", "t", 5_000, 5_000)
CHANGED = struct([("id", Schema(Type.INT64, optional=True)), ("name", Schema(Type.STRING, optional=True))])


def change_by(tool: str) -> object:
    return replace(TOLD, tool=tool).record(Change(Operation.CREATE, None, {"id": 1, "name": "ü"})).value


EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "time": "2024-02-29T01:02:03Z", "data_base64": "AP8="}
DATA = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "n": 5, "data": {"a": [1, None]}}


CASES = {
    "string": ConverterCase(converter_class("string"), [("", STRING), ("Grüße\n", STRING)]),
    "bytes": ConverterCase(converter_class("bytes"), [(b"\x00\xff", BYTES)]),
    "json": ConverterCase(converter_class("json"), [(VALUE, ROW), ("line", STRING), ({"a": [1, None]}, None)]),
    "arrow": ConverterCase(converter_class("arrow"), [(VALUE, ROW), ("line", STRING)]),
    "short": ConverterCase(converter_class("short"), [(-2, Schema(Type.INT16))]),
    "integer": ConverterCase(converter_class("integer"), [(1 << 30, Schema(Type.INT32))]),
    "long": ConverterCase(converter_class("long"), [(-(1 << 63), Schema(Type.INT64))]),
    "float": ConverterCase(converter_class("float"), [(1.5, Schema(Type.FLOAT32))]),
    "double": ConverterCase(converter_class("double"), [(0.1, Schema(Type.FLOAT64))]),
    "avro": ConverterCase(converter_class("avro"), [(VALUE, ROW), ("line", STRING)]),
    "json_schema": ConverterCase(converter_class("json_schema"), [(VALUE, ROW), ("line", STRING)]),
    "protobuf": ConverterCase(converter_class("protobuf"), [(VALUE, ROW), ("line", STRING)]),
    "canal": ConverterCase(converter_class("canal"), [(change_by("canal"), TOLD.schema(CHANGED))]),
    "maxwell": ConverterCase(converter_class("maxwell"), [(change_by("maxwell"), None)]),
    "cloudevents": ConverterCase(converter_class("cloudevents"), [(EVENT, None), (DATA, None)]),
}


def test_every_converter_has_a_case() -> None:
    assert CASES.keys() == BUILT_IN.keys()


class TestConverters(ConverterSuite):
    rounds = some(300)

    @pytest.fixture(params=CASES)
    def case(self, request: pytest.FixtureRequest) -> ConverterCase:
        case = CASES[request.param]
        if not issubclass(case.converter, RegisteredConverter):
            return case
        # Values of any schema go into the same subject, which never is in a topic.
        return replace(case, config={"schema.registry.url": shared_url(), "compatibility": "NONE", **case.config})


class TestPlainJson(ConverterSuite):
    subject = ConverterCase(converter_class("json"), [({"a": [1, None, "x"]}, None)], {"schemas.enable": "false"})

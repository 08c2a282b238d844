"""extract_nested_field puts a field of a struct within beside it."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
ADDRESS = struct([("state", STRING)], optional=True)
PERSON = struct([("address", ADDRESS), ("id", NUMBER)], name="person")
CONFIG = {"input.outer.field.name": "address", "input.inner.field.name": "state", "output.field.name": "lives"}


class TestExtractNestedField(TransformSuite):
    transform: ClassVar[str] = "extract_nested_field"
    wrong: ClassVar = [({}, "input.outer.field.name"), ({**CONFIG, "output.field.name": " "}, "output.field.name")]

    def examples(self) -> Sequence[Example]:
        given = {"address": {"state": "tx"}, "id": 1}
        made = struct([("address", ADDRESS), ("id", NUMBER), ("lives", OPTIONAL_STRING)], name="person")
        away = Record({"address": None, "id": 1, "lives": None}, made)
        return [
            Example(CONFIG, Record(given, PERSON), Record({**given, "lives": "tx"}, made)),
            Example(CONFIG, Record({"address": None, "id": 1}, PERSON), away),
            Example(CONFIG, Record(given), Record({**given, "lives": "tx"})),
            Example(CONFIG, Record({"address": {}}), "there is no field state"),
            Example(CONFIG, Record({"id": 1}), "there is no field address; those that are there: id"),
            Example({**CONFIG, "input.inner.field.name": "x"}, Record(given, PERSON), "there is no field x"),
            Example({**CONFIG, "output.field.name": "id"}, Record(given, PERSON), "several fields the name 'id'"),
            Example({**CONFIG, "on": "key"}, Record(1, key=given), Record(1, key={**given, "lives": "tx"})),
        ]

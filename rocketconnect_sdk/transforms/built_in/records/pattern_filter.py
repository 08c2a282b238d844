"""pattern_filter: drops records by the text in their fields."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.configuration.patterns import compiled, pattern_problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.base import LOOKED_AT, Record, Records, Transform, given, given_many
from rocketconnect_sdk.transforms.paths import array_at


class PatternFilter(Transform):
    """Drops records in which the whole text of one of some fields matches. Other values, and records without the fields, stay."""

    name: ClassVar[str] = "pattern_filter"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.PatternFilter",)
    options: ClassVar[Sequence[Option]] = (
        LOOKED_AT,
        Option(
            "pattern",
            "The regular expression (Java's) that the whole text has to match.",
            required=True,
            check=pattern_problem,
            fix="Write one, such as test-.*",
            example="test-.*",
        ),
        Option(
            "fields",
            "The fields that are looked at, separated by commas; those that are no texts do nothing.",
            Kind.LIST,
            required=True,
            example="name",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._matches = compiled(config["pattern"]).fullmatch

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        value, _ = given(record, self.config)
        return None if isinstance(value, Mapping) and self._dropped(value) else record

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if values is None:
            return records
        if schema is not None and isinstance(values, Column):
            dropped = self._places(values, schema)
        else:
            dropped = {place for place, value in enumerate(values) if isinstance(value, Mapping) and self._dropped(value)}
        return records.take([place for place in range(len(records)) if place not in dropped]) if dropped else records

    def _places(self, values: Column, schema: Schema) -> set[int]:
        """The places of those that are dropped; only the fields that matter are read."""
        texts = {field.name for field in schema.fields if field.schema.type in (Type.STRING, Type.JSON)}
        dropped: set[int] = set()
        for name in texts.intersection(self.config["fields"]):
            column = Column(array_at(values.array, (name,)))
            dropped.update(place for place, text in enumerate(column) if isinstance(text, str) and self._matches(text))
        return dropped

    def _dropped(self, value: Mapping[str, object]) -> bool:
        found = (value.get(name) for name in self.config["fields"])
        return any(isinstance(text, str) and self._matches(text) for text in found)

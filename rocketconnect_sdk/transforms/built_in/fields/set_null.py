"""set_null: nothing in the place of fields, of the value or of the key."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.transforms.base import ON, Record, Records, put, put_many
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept, nested
from rocketconnect_sdk.transforms.paths import PATHS


class SetNull(FieldsTransform):
    """Makes fields null; without fields it makes the whole value null, which is a tombstone then, or the key.

    RocketMQ Connect's SetNull reads options of PatternRename, which do nothing there and are refused here; its $Value does
    nothing there, and makes tombstones here.
    """

    name: ClassVar[str] = "set_null"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.SetNull",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option(
            "fields",
            f"The fields that become null, separated by commas; empty: the whole. {PATHS}. Those that are not there do nothing.",
            Kind.LIST,
            "",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._nulls = dict.fromkeys(config["fields"])

    def apply(self, record: Record) -> Record:
        """See Transform."""
        return super().apply(record) if self._nulls else put(record, self.config, None, None)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        if self._nulls:
            return super().apply_many(records)
        return put_many(records, self.config, [None] * len(records), None)

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return nested(names, self._nulls, _change)


def _change(names: Sequence[Named], nulls: Mapping[str, None]) -> Sequence[Out]:
    return [
        Out(name, None if schema is None else replace(schema, optional=True)) if name in nulls else kept((name, schema))
        for name, schema in names
    ]

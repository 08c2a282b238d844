"""header_to_value: headers as fields."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import OPTIONAL_STRING
from rocketconnect_sdk.transforms.base import ON, Record, Records, given
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.wording.counts import counted


class HeaderToValue(FieldsTransform):
    """Copies headers into fields of a struct, or moves them there, as texts; null where a header is not there. Tombstones pass."""

    name: ClassVar[str] = "header_to_value"
    aliases: ClassVar[Sequence[str]] = ("io.debezium.transforms.HeaderToValue",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("headers", "The headers, separated by commas.", Kind.LIST, required=True, example="order"),
        Option("fields", "The fields that are added for them, in the same order.", Kind.LIST, required=True, example="id"),
        Option(
            "operation", "copy leaves the headers, move takes them out.", required=True, choices=("copy", "move"), example="copy"
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._moved = frozenset(config["headers"]) if config["operation"] == "move" else frozenset()

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if len(config["fields"]) != len(config["headers"]):
            reason = f"names {counted(config['fields'], 'field')} for {counted(config['headers'], 'header')}"
            yield Problem("fields", ",".join(config["fields"])[:200], reason, "Name as many as headers.")

    def apply(self, record: Record) -> Record:
        """See Transform."""
        if given(record, self.config)[0] is None:
            return record
        changed = super().apply(record)
        return replace(changed, headers=self._left(record.headers))

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        changed = super().apply_many(records)
        if changed is None or records.headers is None or not self._moved:
            return changed
        values = changed.keys if self.config["on"] == "key" else changed.values
        there = zip(records.headers, values or (), strict=True)
        return replace(changed, headers=[headers if value is None else self._left(headers) for headers, value in there])

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        schema = OPTIONAL_STRING if all(schema is not None for _, schema in names) else None
        added = zip(self.config["fields"], self.config["headers"], strict=True)
        return [*map(kept, names), *(Out(field, schema, of_record=_header(header)) for field, header in added)]

    def _left(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {name: value for name, value in headers.items() if name not in self._moved} if self._moved else headers


def _header(name: str) -> Callable[[Record], object]:
    return lambda record: record.headers.get(name)

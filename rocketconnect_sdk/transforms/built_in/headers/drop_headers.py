"""drop_headers: leaves out headers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.transforms.base import Record, Records, Transform


class DropHeaders(Transform):
    """Leaves out some headers. Those that are not there do nothing."""

    name: ClassVar[str] = "drop_headers"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.DropHeaders",)
    options: ClassVar[Sequence[Option]] = (
        Option(
            "headers",
            "The names of the headers that are left out, separated by commas.",
            Kind.LIST,
            required=True,
            example="origin",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._dropped = frozenset(config["headers"])

    def apply(self, record: Record) -> Record:
        """See Transform."""
        return replace(record, headers=self._left(record.headers))

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        return records if records.headers is None else replace(records, headers=[*map(self._left, records.headers)])

    def _left(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {name: value for name, value in headers.items() if name not in self._dropped}

"""insert_header: adds a header that is always the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.options import Option
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.transforms.base import Record, Records, Transform


class InsertHeader(Transform):
    """Adds a header; one of the same name is replaced."""

    name: ClassVar[str] = "insert_header"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.InsertHeader",)
    options: ClassVar[Sequence[Option]] = (
        Option("header", "The name of the header.", required=True, example="origin"),
        Option("value.literal", "Its value, as it is written here.", required=True, example="shop"),
    )

    def apply(self, record: Record) -> Record:
        """See Transform."""
        return replace(record, headers={**record.headers, self.config["header"]: self.config["value.literal"]})

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        added = {self.config["header"]: self.config["value.literal"]}
        there = [NO_HEADERS] * len(records) if records.headers is None else records.headers
        return replace(records, headers=[{**headers, **added} for headers in there])

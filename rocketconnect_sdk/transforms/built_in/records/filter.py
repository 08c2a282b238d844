"""filter: drops the records that its predicate chooses."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.transforms.base import Record, Records, Transform


class Filter(Transform):
    """Drops records: all, so give it a predicate. What is dropped counts as done."""

    name: ClassVar[str] = "filter"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.Filter",)

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        del record
        return None

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        return records.take([])

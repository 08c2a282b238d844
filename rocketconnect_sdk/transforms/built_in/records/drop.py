"""drop: leaves out the value, or the key."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.options import Option
from rocketconnect_sdk.transforms.base import ON, Record, Records, Transform, put, put_many


class Drop(Transform):
    """Leaves out the value, so that the record becomes a tombstone, or the key. To drop records, use filter."""

    name: ClassVar[str] = "drop"
    aliases: ClassVar[Sequence[str]] = ("io.confluent.connect.transforms.Drop",)
    options: ClassVar[Sequence[Option]] = (ON,)

    def apply(self, record: Record) -> Record:
        """See Transform."""
        return put(record, self.config, None, None)

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        return put_many(records, self.config, [None] * len(records), None)

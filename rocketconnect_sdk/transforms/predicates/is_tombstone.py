"""is_tombstone: records without a value."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Texts
from rocketconnect_sdk.transforms.base import Predicate, Record, Records


class IsTombstone(Predicate):
    """Chooses tombstones: records without a value, which say that what their key names is gone."""

    name: ClassVar[str] = "is_tombstone"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",)

    def test(self, record: Record) -> bool:
        """See Predicate."""
        return record.value is None

    def test_many(self, records: Records) -> Sequence[bool] | bool:
        """See Predicate."""
        if isinstance(records.values, Texts) or None not in records.values:
            return False
        return [value is None for value in records.values]

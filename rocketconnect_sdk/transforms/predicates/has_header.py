"""has_header: records with a header."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.options import Option
from rocketconnect_sdk.transforms.base import Predicate, Record, Records


class HasHeader(Predicate):
    """Chooses records that have a header, whatever its value is."""

    name: ClassVar[str] = "has_header"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.predicates.HasHeaderKey",)
    options: ClassVar[Sequence[Option]] = (Option("name", "The name of the header.", required=True, example="origin"),)

    def test(self, record: Record) -> bool:
        """See Predicate."""
        return self.config["name"] in record.headers

    def test_many(self, records: Records) -> Sequence[bool] | bool:
        """See Predicate."""
        if records.headers is None:
            return False
        name = self.config["name"]
        return [name in headers for headers in records.headers]

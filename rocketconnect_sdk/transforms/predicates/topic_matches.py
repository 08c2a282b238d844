"""topic_matches: records of topics whose names match."""

from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.configuration.patterns import compiled, pattern_problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.transforms.base import Predicate, Record, Records


class TopicMatches(Predicate):
    """Chooses records of topics whose whole names match a regular expression."""

    name: ClassVar[str] = "topic_matches"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.predicates.TopicNameMatches",)
    options: ClassVar[Sequence[Option]] = (
        Option(
            "pattern",
            "The regular expression (Java's) that the whole name has to match.",
            required=True,
            check=pattern_problem,
            fix="Write one, such as orders-.*",
            example="orders-.*",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._matches = compiled(config["pattern"]).fullmatch

    def test(self, record: Record) -> bool:
        """See Predicate."""
        return self._matches(record.topic) is not None

    def test_many(self, records: Records) -> Sequence[bool] | bool:
        """See Predicate."""
        if records.topics is None:
            return self._matches(records.topic) is not None
        return [self._matches(topic) is not None for topic in records.topics]

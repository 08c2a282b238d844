"""regex_router: other topics, by a regular expression."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.configuration.patterns import compiled, pattern_problem, replacement_problem, template
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.transforms.base import Record, Records, Transform


class RegexRouter(Transform):
    """Gives records another topic where the whole name of theirs matches; of a sink: what it calls tables or files by."""

    name: ClassVar[str] = "regex_router"
    aliases: ClassVar[Sequence[str]] = (
        "org.apache.kafka.connect.transforms.RegexRouter",
        "org.apache.rocketmq.connect.transforms.RegexRouter",
    )
    options: ClassVar[Sequence[Option]] = (
        Option(
            "regex",
            "The regular expression (Java's) that the whole name has to match.",
            required=True,
            check=pattern_problem,
            fix="Write one, such as (.*)-raw",
            example="(.*)-raw",
        ),
        Option("replacement", "The new name; $1 stands for the first group of the expression.", required=True, example="$1"),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._pattern = compiled(config["regex"])
        self._template = template(self._pattern, config["replacement"])

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        problem = replacement_problem("replacement", compiled(config["regex"]), config["replacement"])
        if problem is not None:
            yield problem

    def apply(self, record: Record) -> Record:
        """See Transform."""
        record.topic = self._routed(record.topic)
        return record

    def apply_many(self, records: Records) -> Records:
        """See Transform."""
        topics = None if records.topics is None else [self._routed(topic) for topic in records.topics]
        return replace(records, topic=self._routed(records.topic), topics=topics)

    def _routed(self, topic: str) -> str:
        # As Kafka has it: the whole name has to match, and what the expression finds first is replaced, which can be less.
        return topic if self._pattern.fullmatch(topic) is None else self._pattern.sub(self._template, topic, count=1)

"""timestamp_router: topics by the time of records."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.transforms.base import Record, Records, Transform
from rocketconnect_sdk.transforms.java_time import JavaTime, format_problem

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimestampRouter(Transform):
    """Gives records another topic by the time of their event, in UTC. A record without a time is a bad record.

    How formats are written is in docs/transforms.md.
    """

    name: ClassVar[str] = "timestamp_router"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.TimestampRouter",)
    options: ClassVar[Sequence[Option]] = (
        Option(
            "topic.format",
            "The new topic; ${topic} stands for the one the record has, ${timestamp} for its time.",
            default="${topic}-${timestamp}",
            check=lambda text: None if text.strip() else "is empty",
            fix="Write for instance ${topic}-${timestamp}",
        ),
        Option(
            "timestamp.format",
            "How the time is written, as Java's SimpleDateFormat has it.",
            default="yyyyMMdd",
            check=format_problem,
            fix="Write for instance yyyyMMdd, or yyyy-MM-dd'T'HH",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._time = JavaTime(config["timestamp.format"])

    def apply(self, record: Record) -> Record:
        """See Transform."""
        return replace(record, topic=self._routed(record.topic, record.timestamp_ms))

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        if records.timestamps_ms is None:
            return None
        old = [records.topic] * len(records) if records.topics is None else records.topics
        topics = [self._routed(topic, time) for topic, time in zip(old, records.timestamps_ms, strict=True)]
        return replace(records, topic=topics[0], topics=None if len(set(topics)) == 1 else topics)

    def _routed(self, topic: str, timestamp_ms: int | None) -> str:
        if timestamp_ms is None:
            msg = "the record has no time that its topic could be named by"
            raise RecordError(msg)
        try:
            at = _EPOCH + timedelta(milliseconds=timestamp_ms)
        except OverflowError:
            msg = f"the time of the record, {timestamp_ms} ms since 1970, is beyond the years 1 to 9999"
            raise RecordError(msg) from None
        parts = self.config["topic.format"].split("${timestamp}")
        written = self._time.write(at)
        return written.join(part.replace("${topic}", topic) for part in parts)

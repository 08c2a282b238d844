"""What the runtime gives to a running task."""

from collections.abc import Callable
from dataclasses import dataclass, field
from logging import Logger, getLogger
from threading import Event
from typing import TYPE_CHECKING

from rocketconnect_sdk.topics import TopicReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_RECORD_BYTES = (4 << 20) - (64 << 10)
"""A value longer than this cannot be sent: brokers take 4 MiB, of which a message has more than its body."""


@dataclass(slots=True)
class TaskContext:
    """Of one run of one task.

    Attributes:
        connector: The name of the connector.
        connector_uid: Its uid.
        task: The number of the task in its plan.
        generation: The plan generation.
        epoch: The epoch of the assignment; sinks store it with their data (invariant 3).
        stopping: Set when the task is to end; long calls look at it.
        log: What is logged here at INFO and above is shown by `rocketconnect connector logs`.
        batch_bytes: About how many bytes of values a batch should have at most.
        batch_records: About how many records a batch should have at most.
        buffer_bytes: About how many bytes of values a source may have given that are not confirmed.
        max_record_bytes: A value longer than this cannot be sent in a message.
        columns: Sources do best to give the values of tables as a Column (rocketconnect_sdk.columns.compact): no object is made of
            any row.
        stores: Positions are stored, and committed() is called behind that. Not in a preview, which leaves nothing behind.
        topics: RocketMQ's topics, for sources that read them; None: there is no access.
        replan: Asks for a new plan of the connector, when the task has seen something that its plan does not know: a new table,
            say. Returns at once, from any thread. The plan is made within some seconds, once for all tasks that ask together, and
            at least ten seconds after the one before; what is asked meanwhile is not forgotten. One with the same tasks changes
            nothing; with others, this task ends clean and those of the new plan start. A task may end before anybody has heard of
            what it asked, so it asks again where it sees the same after its start. In a preview nothing happens.
        spark: The Spark session, from the first call of the sink's task on; its jobs go to a pool of this task. None: the task
            does not run on Spark.
    """

    connector: str = "test"
    connector_uid: str = "test"
    task: int = 0
    generation: int = 1
    epoch: int = 1
    stopping: Event = field(default_factory=Event)
    log: Logger = field(default_factory=lambda: getLogger("rocketconnect.task"))
    batch_bytes: int = 1 << 20
    batch_records: int = 10_000
    buffer_bytes: int = 32 << 20
    max_record_bytes: int = MAX_RECORD_BYTES
    columns: bool = False
    stores: bool = False
    topics: TopicReader | None = None
    replan: Callable[[], None] = lambda: None
    spark: "SparkSession | None" = None

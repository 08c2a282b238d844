"""A source connector in Java as a source of ours."""

from collections.abc import Iterable, Mapping

from connectors.kafka_connect.offsets import connector_context
from connectors.kafka_connect.plugin import OfJava
from connectors.kafka_connect.source_task import KafkaSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source, SourceTask, never


class JavaSource(OfJava, Source):
    """A class of it is made for each source connector."""

    replayable = never

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """The task configurations of the connector. See Source."""
        return self.planned(config, max_tasks, lambda java: connector_context(java, positions, lambda: None))

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """Its offsets are maps that no number stands for. See Source."""
        del config
        if not position.resume:
            reason = "cannot go on from a number: offsets of Kafka Connect are maps"
            yield Problem(partition, str(list(position.offset)), reason, "Give the map of a stored position with --resume.")

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> SourceTask:
        """Makes the task. See Source."""
        return KafkaSourceTask(self, config, self.task_properties(config, task, context.connector), context)

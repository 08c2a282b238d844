"""A sink connector in Java as a sink of ours."""

from collections.abc import Mapping
from typing import Any

from connectors.kafka_connect.jvm import Java
from connectors.kafka_connect.plugin import OfJava
from connectors.kafka_connect.sink_task import JavaSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.sink import BufferedSink, BufferedSinkTask
from rocketconnect_sdk.source import Plan


class JavaSink(OfJava, BufferedSink):
    """A class of it is made for each sink connector."""

    wants_headers = True

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """The task configurations of the connector. See Sink."""
        return self.planned(config, max_tasks, _context)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> BufferedSinkTask:
        """Makes the task. See BufferedSink."""
        return JavaSinkTask(self, config, self.task_properties(config, task, context.connector), context)


def _context(java: Java) -> Any:
    """What a sink connector asks its runtime while it plans."""
    methods = {"requestTaskReconfiguration": lambda: None, "raiseError": lambda _error: None, "pluginMetrics": lambda: None}
    return java.proxy("org.apache.kafka.connect.sink.SinkConnectorContext", methods)

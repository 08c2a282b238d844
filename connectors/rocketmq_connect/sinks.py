"""A sink connector of RocketMQ Connect as a sink of ours."""

from collections.abc import Mapping

from connectors.rocketmq_connect.plugin import OfPlugin
from connectors.rocketmq_connect.sink_task import PluginSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.sink import BufferedSink, BufferedSinkTask
from rocketconnect_sdk.source import Plan


class PluginSink(OfPlugin, BufferedSink):
    """A class of it is made for each sink connector."""

    wants_headers = True
    topic_keys = ("topics", "connect.topicnames")

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """The task configurations of the connector. See Sink."""
        return self.planned(config, max_tasks)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> BufferedSinkTask:
        """Makes the task. See BufferedSink."""
        return PluginSinkTask(self, config, self.task_texts(config, task, context.connector, context.task), context)

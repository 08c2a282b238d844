"""What sources and sinks of RocketMQ Connect have in common: where they are, their check, their plan."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from connectors.java.machine import raised, reason
from connectors.kafka_connect.options import HEAP, concealed, revealed
from connectors.rocketmq_connect.api import PluginJava, texts_of
from connectors.rocketmq_connect.maps import connector_context
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, names_secret
from rocketconnect_sdk.plugins.kafka import JavaConnector, JavaPlugin
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.source import Plan

TASK, TOLD = "java.task.class", "java.task.told"
"""What a task is told: the class that runs it, and what it gets beyond what the connector has, as JSON."""


class OfPlugin(NeedsPackages):
    """A connector in Java.

    Class attributes:
        plugin: It is of this one.
        connector: What is known of it.
    """

    open_ended = True
    extra = "kafka-connect"
    packages = ("jpype",)
    plugin: JavaPlugin
    connector: JavaConnector
    topic_keys: ClassVar[tuple[str, str]]
    """Our option of topics, and RocketMQ Connect's name of it."""

    def check(self, config: Config) -> Iterator[Problem]:
        """What validate() of the plugin says. See Source and Sink."""
        if self.lacks:
            yield Problem(CLASS.key, self.connector.name, self.lacks, self.packages_fix)
            return
        told = self.told(config, "check")
        try:
            java = self.java(config)
            connector = java.new(self.connector.name)
        except PermanentError as error:
            fix = "Install Java, or the plugin, where the executors run."
            yield Problem(CLASS.key, self.connector.name, str(error), fix)
            return
        except java.jpype.JException as error:
            yield Problem(CLASS.key, self.connector.name, f"can't be made: {reason(error)}", "Install its whole plugin.")
            return
        try:
            connector.validate(java.key_values(told))
        except java.jpype.JException as error:
            yield Problem("", "", f"{self.connector.name} refuses it: {reason(error)}", "Correct what it names.")

    def java(self, config: Config) -> PluginJava:
        """The plugin in the Java of this process, which this thread is then in. Raises PermanentError."""
        java = PluginJava(self.plugin, config[HEAP.key])
        java.enter()
        return java

    def told(self, config: Config, name: str) -> dict[str, str]:
        """What the connector is told: what the user wrote, its own class, and the topics under RocketMQ Connect's name."""
        key, theirs = self.topic_keys
        topics = config[key]
        written = topics if isinstance(topics, str) else ";".join(topics)
        most = config.raw.get("max.tasks") or config.raw.get("tasks.max", "1")
        own = {CLASS.key: self.connector.name, "connector.id": name, "max.tasks": most, theirs: written}
        return {**config.raw, **own}

    def planned(self, config: Config, max_tasks: int) -> Plan:
        """The configurations of its tasks."""
        java = self.java(config)
        told = self.told(config, "plan")
        failed: list[Any] = []
        try:
            connector = java.new(self.connector.name)
            given = java.key_values(told)
            connector.validate(given)
            connector.init(connector_context(java, lambda: None, failed.append))
            connector.start(given)
            try:
                tasks = [texts_of(task) for task in connector.taskConfigs(max_tasks) or ()]
                kind = str(connector.taskClass().getName())
            finally:
                # Why there is no plan is what is told.
                with suppress(java.jpype.JException):
                    connector.stop()
        except java.jpype.JException as error:
            raise raised(error) from error
        if failed:
            raise PermanentError(reason(failed[0]))
        if not tasks:
            msg = f"{self.connector.name} sees nothing to do: it planned no task"
            raise PermanentError(msg)
        secrets = self._secrets(config)
        return Plan([{TASK: kind, TOLD: json.dumps(concealed(told, task, secrets))} for task in tasks])

    def task_texts(self, config: Config, task: Mapping[str, str], name: str, number: int) -> dict[str, str]:
        """What a task is told."""
        whole = revealed(self.told(config, "plan"), json.loads(task.get(TOLD, "{}")), self._secrets(config))
        return {**whole, "connector.id": name, "task.id": str(number), "task.class": task[TASK]}

    def _secrets(self, config: Config) -> list[str]:
        return [key for key in config.raw if names_secret(key)]

"""What sources and sinks in Java have in common: where they are, their check, their plan."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from connectors.java.machine import raised, reason
from connectors.kafka_connect import stages
from connectors.kafka_connect.jvm import Java
from connectors.kafka_connect.options import HEAP, concealed, properties, refused, revealed
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, OptionWrong, names_secret
from rocketconnect_sdk.plugins.kafka import JavaConnector, JavaPlugin
from rocketconnect_sdk.plugins.kafka_names import needs_kafka
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.source import Plan

CLASS, TOLD = "kafka.task.class", "kafka.task.told"
"""What a task is told: the class that runs it, and what it gets beyond what the connector has, as JSON."""


class OfJava(NeedsPackages):
    """A connector in Java.

    Class attributes:
        plugin: It is of this one.
        connector: What is known of it.
    """

    foreign = True
    defaults: ClassVar[Mapping[str, str]] = {"key.converter": "bytes", "value.converter": "bytes"}
    extra = "kafka-connect"
    packages = ("jpype",)
    plugin: JavaPlugin
    connector: JavaConnector

    def check(self, config: Config) -> Iterator[Problem]:
        """What is wrong, as Java says it. See Source and Sink."""
        if self.lacks:
            yield Problem("connector.class", self.connector.name, self.lacks, self.packages_fix)
            return
        yield from refused(config)
        if needs_kafka(self.connector.name):
            why = "speaks to Kafka itself, and there is none here"
            yield Problem("connector.class", self.connector.name, why, "Use a connector of RocketConnect's own.")
            return
        try:
            java = self.java(config)
        except PermanentError as error:
            yield Problem(
                "connector.class", self.connector.name, str(error), "Install Java, or the plugin, where the executors run."
            )
            return
        try:
            found = java.new(self.connector.name).validate(java.strings(properties(config, self.connector.name)))
        except java.jpype.JException as error:
            yield Problem("", "", f"the check of {self.connector.name} failed: {reason(error)}", "Correct what it names.")
        else:
            yield from self._told(config, found)
        yield from stages.problems(java, config.own)

    def java(self, config: Config) -> Java:
        """The plugin in the Java of this process, which this thread is then in. Raises PermanentError."""
        java = Java(self.plugin, config[HEAP.key])
        java.enter()
        return java

    def planned(self, config: Config, max_tasks: int, context: Callable[[Java], Any]) -> Plan:
        """The configurations of its tasks.

        Args:
            config: With secrets.
            max_tasks: At most so many.
            context: The ConnectorContext.
        """
        java = self.java(config)
        told = properties(config, self.connector.name)
        connector = java.new(self.connector.name)
        try:
            connector.initialize(context(java))
            connector.start(java.strings(told))
            try:
                tasks = [{str(key): str(text) for key, text in task.items()} for task in connector.taskConfigs(max_tasks)]
                kind = str(connector.taskClass().getName())
            except BaseException:
                # Why there is no plan is what is told.
                with suppress(java.jpype.JException):
                    connector.stop()
                raise
            connector.stop()
        except java.jpype.JException as error:
            raise raised(error) from error
        if not tasks:
            msg = f"{self.connector.name} sees nothing to do: it planned no task"
            raise PermanentError(msg)
        secrets = self._secrets(config)
        return Plan([{CLASS: kind, TOLD: json.dumps(concealed(told, task, secrets))} for task in tasks])

    def task_properties(self, config: Config, task: Mapping[str, str], name: str) -> dict[str, str]:
        """What a task is told."""
        told = properties(config, self.connector.name)
        whole = revealed(told, json.loads(task.get(TOLD, "{}")), self._secrets(config))
        return {**whole, "name": name, "task.class": task[CLASS]}

    def _secrets(self, config: Config) -> list[str]:
        listed = [option.key for option in self.connector.options if option.type == "PASSWORD"]
        return [*listed, *(key for key in (*config.raw, *config.own) if key not in listed and names_secret(key))]

    def _told(self, config: Config, found: Any) -> Iterable[Problem]:
        """What validate() says, of options of which nothing is told already."""
        secrets = self._secrets(config)
        for value in found.configValues():
            key = str(value.name())
            errors = [str(error) for error in value.errorMessages()]
            with suppress(OptionWrong):
                if not errors or (key in config and config[key] is None and key not in config.raw and self._is_required(key)):
                    continue
                allowed = [str(each) for each in value.recommendedValues() if each is not None]
                fix = (
                    f"Give one of {', '.join(allowed)}." if allowed else f"See `rocketconnect plugins show {self.connector.name}`."
                )
                yield Problem(key, "" if key in secrets else config.raw.get(key, "")[:200], " ".join(errors), fix)

    def _is_required(self, key: str) -> bool:
        return any(option.key == key and option.required for option in self.connector.options)

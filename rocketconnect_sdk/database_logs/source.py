"""The plugin of a source that reads the log of a database."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping

from rocketconnect_sdk.changes import KEY_OPTION, MASK_OPTIONS, OPTIONS
from rocketconnect_sdk.changes.snapshots.incremental import INCREMENTAL_OPTIONS, SIGNALS
from rocketconnect_sdk.configuration.patterns import patterns_problem
from rocketconnect_sdk.database_logs.watermarks import PARTITION
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.source import Plan, Source

SERVER_NAME = Option("server.name", "What the server is called in source.name; without it as the connector.", default="")
CHANGE_OPTIONS = (KEY_OPTION, *MASK_OPTIONS, *INCREMENTAL_OPTIONS, *OPTIONS)


def name_patterns(key: str, doc: str, example: str) -> Option:
    """An option with regular expressions for names."""
    fix = f"Give regular expressions for the whole name, separated by commas, such as {example}."
    return Option(key, doc, Kind.LIST, "", check=patterns_problem, fix=fix)


def heartbeat(doc: str) -> Option:
    """How often the position in the log is stored."""
    return Option("heartbeat.interval", doc, Kind.DURATION, "1s", minimum=0.05)


def table_topic(default: str) -> Option:
    """The topics of tables."""
    doc = "The topic of a table; ${topic} is the topic of the configuration. Without ${table} all tables are in one."
    return Option("table.topic", doc, default=default)


def topics_of(config: Config) -> str:
    """The topics of tables as a template of the table alone."""
    return str(config["table.topic"]).replace("${topic}", config["topic"])


class LogSource(Source):
    """Copies tables, and then every change of their rows, read from the log of their database in order, by one task."""

    signals = SIGNALS

    @abstractmethod
    def check_watermark(self, offset: Offset) -> None:
        """Whether these are the integers of a position in the log.

        Raises:
            ValueError: they are not: what is wrong, as words behind "it".
        """

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        problems = list(super().check_position(config, partition, position))
        if not problems and partition == PARTITION:
            try:
                self.check_watermark(position.offset)
            except ValueError as error:
                problems.append(Problem(partition, str(list(position.offset)), str(error), "Give one that it had."))
        return problems

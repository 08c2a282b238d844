"""What sinks of lakes have in common before any of their tasks begins."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from connectors.lakes.options import INSERT, TOPIC, policy_of
from rocketconnect_sdk.columns.declared import no_rows_problem, parse_columns
from rocketconnect_sdk.columns.sinks import DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import Takes, as_table, nullable
from rocketconnect_sdk.evolution.held import columns_problem, rows_problems
from rocketconnect_sdk.options import Config, OptionWrong
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.lakes.task import LakeTask


class LakeSink(DataFrameSink):
    """A sink into a table of a lake, or one for each topic, with the options COLUMNS, CHANGES and FLUSH (connectors.lakes.options).

    A commit costs the table a version and Spark a job, whatever it has: it is worth waiting for more rows where there are more.
    """

    defaults: ClassVar[Mapping[str, str]] = {"batch.bytes": "64MiB", "buffer.bytes": "128MiB"}

    @abstractmethod
    def open_table(self, config: Config, context: TaskContext) -> "LakeTask":
        """Makes the task of one table. Must not block for long."""

    @abstractmethod
    def check_table(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the configuration of one table. See Sink.check."""

    @abstractmethod
    def table_targets(self, config: Config, topics: Iterable[str]) -> Iterable[Target]:
        """One table, to which several connectors may append, each other topics. See Sink.targets."""

    @abstractmethod
    def has_table(self, config: Config) -> bool:
        """Whether the table is there."""

    @abstractmethod
    def table_columns(self, config: Config) -> Schema | None:
        """The columns of the table, as far as they can be read without Spark; None: there is none, or it is not known."""

    @abstractmethod
    def place(self, config: Config) -> tuple[str, str]:
        """The option that names the table, and what it says."""

    @abstractmethod
    def takes(self) -> Takes:
        """What the table can become."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> DataFrameSinkTask:
        """See DataFrameSink."""
        from rocketconnect_sdk.targets.by_topic import ByTopic

        del task
        if not self._is_many(config):
            return self.open_table(config, context)
        return ByTopic({topic: self.open_table(one, context) for topic, one in self._by_topic(config)})

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        if self._is_many(config) and config.raw.get("query"):
            fix = f"Leave {TOPIC} out: a query has one result for all topics."
            yield Problem(*self.place(config), "is a table for each topic, and there is a query", fix)
        told: list[Problem] = []
        for topic, one in self._by_topic(config):
            found = [problem for problem in self.check_table(one) if problem not in told]
            yield from found
            told += found
            if found and not any(topic in problem.value for problem in found):
                # It is so with all tables, and may have taken its time to be found out.
                return

    def targets(self, config: Config) -> Iterable[Target]:
        """See Sink."""
        for topic, one in self._by_topic(config):
            yield from self.table_targets(one, [topic] if topic else config["topics"])

    def _is_many(self, config: Config) -> bool:
        # What is wrong with an option is told where it is read, and hides nothing else.
        with suppress(OptionWrong):
            return TOPIC in self.place(config)[1]
        return False

    def _by_topic(self, config: Config) -> Iterator[tuple[str, Config]]:
        """The configuration of each table, by its topic; "": of one table for all of them."""
        topics: Sequence[str] = ()
        with suppress(OptionWrong):
            topics = config["topics"] if self._is_many(config) else ()
        if not topics:
            yield "", config
        for topic in topics:
            yield topic, config.replaced(partial(_named, topic=topic))

    def there_problems(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the option `columns` for the table that is there."""
        from connectors.file_sink.columns import case_problems

        yield from case_problems(config)
        if config["columns"] and (table := self.table_columns(config)) is not None:
            found = columns_problem("the table", table, parse_columns(config["columns"]))
            yield from () if found is None else (found,)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        # JSON that changes rows has the columns of the table that is there.
        if not config["columns"] and (
            config["insert.mode"] == INSERT or not all(self.has_table(one) for _, one in self._by_topic(config))
        ):
            yield no_rows_problem("the table")

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """Those of the topics of a table fit each other, and the table that is there. See Sink."""
        if config["columns"]:
            return
        for topic, one in self._by_topic(config):
            yield from self._table_rows_problems(one, {each: schema for each, schema in rows.items() if topic in ("", each)})

    def _table_rows_problems(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        from connectors.file_sink.mixing import topics_problems
        from rocketconnect_sdk.targets.envelopes import row_schema
        from rocketconnect_sdk.targets.fitted import spared

        yield from topics_problems(config, rows, "table")
        if (table := self.table_columns(config)) is None:
            return
        for topic, schema in rows.items():
            # The rows of changes are within them.
            records = as_table(schema) if config["insert.mode"] == INSERT else row_schema(schema)
            if records is None:
                continue
            yield from rows_problems(
                self.place(config),
                f"the rows of `{topic}`",
                spared(table, [config["pk.fields"]]),
                nullable(records),
                policy_of(config),
                self.takes(),
                is_tolerant=config["errors.tolerance"] == "all",
                key=config["pk.fields"],
            )

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True


def _named(text: str, topic: str) -> str:
    return text.replace(TOPIC, topic)

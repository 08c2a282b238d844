"""What sinks of lakes have in common before any of their tasks begins."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from connectors.lakes.options import INSERT, policy_of
from rocketconnect_sdk.columns.declared import no_rows_problem, parse_columns
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import Takes, as_table, nullable
from rocketconnect_sdk.evolution.held import columns_problem, rows_problems
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import DataFrameSink, FlushPolicy


class LakeSink(DataFrameSink):
    """A sink into one table of a lake, with the options COLUMNS, CHANGES and FLUSH (connectors.lakes.options).

    A commit costs the table a version and Spark a job, whatever it has: it is worth waiting for more rows where there are more.
    """

    defaults: ClassVar[Mapping[str, str]] = {"batch.bytes": "64MiB", "buffer.bytes": "128MiB"}

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

    def there_problems(self, config: Config) -> Iterable[Problem]:
        """What is wrong with the option `columns` for the table that is there."""
        if config["columns"] and (table := self.table_columns(config)) is not None:
            found = columns_problem("the table", table, parse_columns(config["columns"]))
            yield from () if found is None else (found,)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        # JSON that changes rows has the columns of the table that is there.
        if not config["columns"] and (config["insert.mode"] == INSERT or not self.has_table(config)):
            yield no_rows_problem("the table")

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """One table for all topics, also that which is there. See Sink."""
        from connectors.file_sink.mixing import topics_problems
        from rocketconnect_sdk.targets.changes import row_schema
        from rocketconnect_sdk.targets.fitted import spared

        if config["columns"]:
            return
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

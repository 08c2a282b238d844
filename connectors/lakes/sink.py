"""What sinks of lakes have in common before any of their tasks begins."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping

from connectors.lakes.options import INSERT
from rocketconnect_sdk.columns.declared import no_rows_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import DataFrameSink, FlushPolicy


class LakeSink(DataFrameSink):
    """A sink into one table of a lake, with the options COLUMNS, CHANGES and FLUSH (connectors.lakes.options)."""

    @abstractmethod
    def has_table(self, config: Config) -> bool:
        """Whether the table is there."""

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        # JSON that changes rows has the columns of the table that is there.
        if not config["columns"] and (config["insert.mode"] == INSERT or not self.has_table(config)):
            yield no_rows_problem("the table")

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """One table for all topics. See Sink."""
        from connectors.file_sink.mixing import topics_problems

        return () if config["columns"] else topics_problems(config, rows, "table")

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

"""Topics into the tables of ClickHouse."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.clickhouse.options import SERVER, client_of, place_of
from rocketconnect_sdk.columns.declared import DOC, columns_problem
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.http.options import tls_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee, RecordSink
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.clickhouse_sink.store import Store
    from connectors.clickhouse_sink.task import ClickHouseTask

_EXACT = "exactly_once"
_MADE = ("table.engine", "table.order.by", "table.partition.by", "table.settings")


class ClickHouseSink(RecordSink):
    """Adds rows to tables of ClickHouse, exactly once."""

    name = "clickhouse_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    options = (
        *SERVER,
        Option(
            "table",
            "The table. ${topic} stands for the topic; before a point stands another database. One connector has it.",
            default="${topic}",
        ),
        Option(
            "delivery",
            "exactly_once: rows carry the queue, the offset and the row of their record in the columns _rc_queue, _rc_offset and "
            "_rc_row, and the table is a MergeTree, replicated or not. at_least_once: tables of any engine, without these "
            "columns; rows may be there twice after a failure, which a ReplacingMergeTree makes one again.",
            default=_EXACT,
            choices=(_EXACT, "at_least_once"),
        ),
        Option("table.create", "A table that is not there is made of the columns of the first record.", Kind.BOOL, "false"),
        Option("table.engine", "The engine of tables that are made, with its arguments.", default="MergeTree"),
        Option(
            "table.order.by",
            "The key that rows of tables that are made are sorted by: columns or expressions, separated by commas. Its columns "
            "take no null.",
            default="tuple()",
        ),
        Option(
            "table.partition.by",
            "The key that tables that are made are partitioned by, such as toYYYYMM(at). Empty: they are not.",
            default="",
        ),
        Option("table.settings", "Settings of tables that are made, such as fsync_after_insert = 1.", default=""),
        replace(POLICY, default=Policy.FAIL.value),
        Option(
            "columns",
            "Makes rows of JSON objects that have no schema; fields that are no columns are left out. Without it they have the "
            f"columns of the table. Values with a schema need no columns. {DOC}",
            default="",
            check=columns_problem,
            fix=f"Write {DOC}",
        ),
        Option(
            "positions.table",
            "The table that keeps the positions of the queues, beside the data.",
            default="rocketconnect_positions",
        ),
        Option(
            "compression",
            "Of what is sent: none or gzip. Servers before 20.3 take nothing that is compressed.",
            default="none",
            choices=("none", "gzip"),
        ),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("1s", "Each batch is an INSERT, and ClickHouse wants few large ones."),
    )

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, tls_problems, _made_problems, _evolution_problems, _server_problems)

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """Against the tables that are there. See Sink."""
        from connectors.clickhouse_sink.look import rows_problems

        return rows_problems(config, rows)

    def targets(self, config: Config) -> Iterable[Target]:
        """The table. See Sink."""
        place = place_of(config)
        yield Target("table", f"{place.url} {'.'.join(place.parts(config['table']))}")

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ClickHouseTask":
        """See RecordSink."""
        from connectors.clickhouse_sink.task import ClickHouseTask
        from connectors.clickhouse_sink.writing import writing_of

        del task
        owner = (context.generation, context.epoch)
        store = _store(config, context.connector_uid, context.task, owner)
        return ClickHouseTask(writing_of(config), store.client, store, self.flush_policy(config), context.log)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes its positions. See Sink."""
        store = _store(config, connector_uid, 0, (0, 0))
        with closing(store.client):
            store.forget()


def _store(config: Config, connector_uid: str, task: int, owner: tuple[int, int]) -> "Store":
    from connectors.clickhouse_sink.store import Store

    client = client_of(config, compression=config["compression"])
    return Store(client, config["positions.table"], connector_uid, task, owner)


def _made_problems(config: Config) -> Iterable[Problem]:
    if config["table.create"]:
        from connectors.clickhouse_sink.writing import ENGINE_FIX, engine_problem

        reason = engine_problem(config["table.engine"].partition("(")[0].strip())
        if reason and config["delivery"] == _EXACT:
            yield Problem("table.engine", config["table.engine"], f"the table that is made {reason}", f"{ENGINE_FIX}.")
        return
    for key in _MADE:
        if key in config.raw:
            yield Problem(key, config.raw[key], "means nothing without table.create", "Remove it, or set table.create=true.")


def _evolution_problems(config: Config) -> Iterable[Problem]:
    return policy_problems(config, tuple(Policy), "")


def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.clickhouse_sink.look import server_problems

    return server_problems(config)

"""Topics into the tables of ClickHouse."""

from collections.abc import Iterable
from logging import Logger
from typing import TYPE_CHECKING

from connectors.clickhouse.options import SERVER, client_of, place_of
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import tls_problems
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.tables import COLUMNS, EVOLUTION, POSITIONS_TABLE, TABLE, TABLE_CREATE, Owner, TableSink
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.clickhouse.dialect import ClickHouse
    from connectors.clickhouse.inserts import Inserts

_EXACT = "exactly_once"
_MADE = ("table.engine", "table.order.by", "table.partition.by", "table.settings")


def _made_problems(config: Config) -> Iterable[Problem]:
    if config["table.create"]:
        from connectors.clickhouse.places import ENGINE_FIX, engine_problem

        reason = engine_problem(config["table.engine"].partition("(")[0].strip())
        if reason and config["delivery"] == _EXACT:
            yield Problem("table.engine", config["table.engine"], f"the table that is made {reason}", f"{ENGINE_FIX}.")
        return
    for key in _MADE:
        if key in config.raw:
            yield Problem(key, config.raw[key], "means nothing without table.create", "Remove it, or set table.create=true.")


class ClickHouseSink(TableSink):
    """Adds rows to tables of ClickHouse, exactly once."""

    name = "clickhouse_sink"
    checks = (tls_problems, _made_problems)
    refused = ("url", "Name a server of ClickHouse, from 18.16 on.")
    options = (
        *SERVER,
        TABLE,
        Option(
            "delivery",
            "exactly_once: rows carry the queue, the offset and the row of their record in the columns _rc_queue, _rc_offset and "
            "_rc_row, and the table is a MergeTree, replicated or not. at_least_once: tables of any engine, without these "
            "columns; rows may be there twice after a failure, which a ReplacingMergeTree makes one again.",
            default=_EXACT,
            choices=(_EXACT, "at_least_once"),
        ),
        TABLE_CREATE,
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
        EVOLUTION,
        COLUMNS,
        POSITIONS_TABLE,
        Option(
            "compression",
            "How requests are compressed: none or gzip. Servers before 20.3 take none that is compressed.",
            default="none",
            choices=("none", "gzip"),
        ),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("1s", "Each batch is an INSERT, and ClickHouse wants few large ones."),
    )

    def targets(self, config: Config) -> Iterable[Target]:
        """The table. See Sink."""
        place = place_of(config)
        yield Target("table", f"{place.url} {'.'.join(place.parts(config['table']))}")

    def dialect(self, config: Config, *, seconds: float = 0.0) -> "ClickHouse":
        """See TableSink."""
        from connectors.clickhouse.dialect import ClickHouse

        engine = tuple(config[key] for key in ("table.engine", "table.partition.by", "table.order.by", "table.settings"))
        return ClickHouse(client_of(config, seconds=seconds), engine, exact=config["delivery"] == _EXACT)

    def loader(self, config: Config, connector_uid: str, owner: Owner, log: Logger) -> "Inserts":
        """See TableSink."""
        from connectors.clickhouse.inserts import Inserts
        from connectors.clickhouse.positions import Store

        client = client_of(config, compression=config["compression"])
        return Inserts(
            client, Store(client, config["positions.table"], connector_uid, owner), log, exact=config["delivery"] == _EXACT
        )

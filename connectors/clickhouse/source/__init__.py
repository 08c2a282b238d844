"""New rows of the tables of ClickHouse into a topic."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connectors.clickhouse.options import CHECK_SECONDS, SERVER, client_of, place_of
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import tls_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source

if TYPE_CHECKING:
    from connectors.clickhouse.source.tables import TableSettings
    from connectors.clickhouse.source.task import ClickHouseSourceTask

_MICROS = 1_000_000


def _time_problem(text: str) -> str | None:
    try:
        datetime.fromisoformat(text or "2026-01-01")
    except ValueError as error:
        return str(error)
    return None


class ClickHouseSource(Source):
    """Reads rows of tables of ClickHouse in the order of a column, and looks for new ones again and again."""

    name = "clickhouse_source"
    options = (
        *SERVER,
        Option("tables", "The tables; before a point stands another database.", Kind.LIST, required=True, example="orders"),
        Option("incrementing.column.name", "The column of whole numbers that grow with each new row.", default="", example="id"),
        Option(
            "timestamp.column.name",
            "The column, a DateTime or DateTime64, that says when a row was made. With incrementing.column.name or key.columns, "
            "which tell rows of the same time apart.",
            default="",
        ),
        Option(
            "key.columns",
            "The columns of the keys of records: whole numbers, texts and UUIDs. They tell rows of the same time or number apart.",
            Kind.LIST,
            "",
        ),
        Option(
            "timestamp.initial",
            "Where there is no position yet, rows are read from this time on, such as 2026-01-31T00:00:00; in UTC where it has no "
            "zone. Empty: all.",
            default="",
            check=_time_problem,
            fix="Write a time such as 2026-01-31T00:00:00.",
        ),
        Option(
            "timestamp.delay.interval",
            "Rows whose time is not so long ago are left for later: longer than an INSERT takes from the time in its rows on. What "
            "comes later with an earlier time than rows that were read is not seen.",
            Kind.DURATION,
            "5s",
            minimum=0,
        ),
        Option("poll.interval", "How often it looks for new rows.", Kind.DURATION, "5s", minimum=0.001, maximum=86400),
        Option("batch.max.rows", "The most rows that it reads at once.", Kind.INT, "10000", minimum=1, maximum=1_000_000),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, tls_problems, _order_problems, _server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The tables. See Source."""
        place = place_of(config)
        return [Origin("tables", f"{place.url} ", ".".join(place.parts(name))) for name in config["tables"]]

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source. Each table is read by one task."""
        del positions
        names = list(dict.fromkeys(config["tables"]))
        count = max(1, min(max_tasks, len(names)))
        return Plan([{"tables": "\n".join(names[number::count])} for number in range(count)])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ClickHouseSourceTask":
        """See Source."""
        from connectors.clickhouse.source.task import ClickHouseSourceTask, PollSettings

        first = datetime.fromisoformat(config["timestamp.initial"]) if config["timestamp.initial"] else None
        rhythm = PollSettings(
            config["poll.interval"],
            config["batch.max.rows"],
            int(config["timestamp.delay.interval"] * _MICROS),
            None if first is None else int((first if first.tzinfo else first.replace(tzinfo=UTC)).timestamp() * _MICROS),
        )
        return ClickHouseSourceTask(client_of(config), _wanted(config), task["tables"].split("\n"), rhythm, context)


def _wanted(config: Config) -> "TableSettings":
    from connectors.clickhouse.source.tables import TableSettings

    return TableSettings(config["incrementing.column.name"], config["timestamp.column.name"], tuple(config["key.columns"]))


def _order_problems(config: Config) -> Iterable[Problem]:
    number, moment = config["incrementing.column.name"], config["timestamp.column.name"]
    if not number and not moment:
        fix = "Name the column of numbers that grow, or that of times in timestamp.column.name."
        yield Problem("incrementing.column.name", "", "is needed, or timestamp.column.name: by one of them new rows are known", fix)
    if moment and not number and not config["key.columns"]:
        fix = "Name incrementing.column.name or key.columns."
        yield Problem("timestamp.column.name", moment, "alone cannot tell rows of the same time from each other", fix)
    if not moment and config["timestamp.initial"]:
        yield Problem("timestamp.initial", config["timestamp.initial"], "means nothing without timestamp.column.name", "Remove it.")


@preflight()
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.clickhouse.source.tables import look

    with closing(client_of(config, seconds=CHECK_SECONDS)) as client:
        for name in config["tables"]:
            yield from look(client, _wanted(config), name)[1]

"""The options of the SQL of sinks, and what is wrong with them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rocketconnect_sdk.errors import ConnectorError, Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access, roots
from rocketconnect_sdk.queries.tables import FORMATS, read_table
from rocketconnect_sdk.queries.text import WINDOW, StreamQuery, parse_query
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import BufferedSink, Sink
from rocketconnect_sdk.transforms.processes.sql import UNKNOWN_FUNCTION, SqlProcess
from rocketconnect_sdk.transforms.row_sql import INDEX, TABLE
from rocketconnect_sdk.transforms.sql_columns import WHOLE

TABLES = "query.tables."
"""What options that name files of tables begin with."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_CHECK_SECONDS = 10.0
_EVERYTHING = f"SELECT * FROM {TABLE}"  # noqa: S608  # no value is in it

QUERY = Option(
    "query",
    "SELECT ... FROM records in DuckDB's dialect: what is written is its result, and not the records. See docs/queries.md; "
    "query.tables.NAME is the CSV, JSON lines or Parquet file of a table that it joins.",
    default="",
)
_TIMEOUT = Option("query.timeout", "How long the query may take for a batch.", Kind.DURATION, "30s", minimum=0.1)
_TIME = Option(
    "query.time",
    "The column with the time of a record, for windows and duplicates: a timestamp, milliseconds since 1970 or ISO 8601. "
    "Without it: the time of the message.",
    default="",
)
_WINDOW = Option(
    "query.window",
    "Collects the records of so long a time, and runs the query over those of each window by itself, once, when the watermark has "
    "passed it. Without it the query is run over each record by itself.",
    Kind.DURATION,
    minimum=0.001,
)
_SLIDE = Option(
    "query.window.slide",
    "A window begins each so long; without it: where the one before ends. Shorter than the window, a record is in several.",
    Kind.DURATION,
    minimum=0.001,
)
_LATENESS = Option(
    "query.lateness",
    "How far the watermark of a queue stays behind its newest record: so much later a record may come and still count.",
    Kind.DURATION,
    "0s",
)
_IDLE = Option(
    "query.idle",
    "A queue that is read to its end, and whose newest record is so much older than the newest of all, is not waited for.",
    Kind.DURATION,
    "1m",
    minimum=0,
)
_BY = Option(
    "query.deduplicate.by",
    "Columns that tell a record: one that had the same in them within query.deduplicate.within is dropped before the query.",
    Kind.LIST,
    "",
)
_WITHIN = Option(
    "query.deduplicate.within",
    "How far apart in time two records with the same columns are still the same one.",
    Kind.DURATION,
    minimum=0.001,
)
_STATE = Option(
    "query.state",
    "The folder for what is kept from batch to batch: open windows, keys that were seen. Every executor that may run the sink "
    "has to see it.",
    default="",
    access=Access.WRITE,
)
_LOST = Option(
    "query.state.lost",
    "Where no state belongs to the sink's positions: fail, or go on from there with an empty one and say so.",
    default="fail",
    choices=("fail", "empty"),
)
_STATE_BYTES = Option(
    "query.state.bytes",
    "How large the state may become; the task fails before it is larger.",
    Kind.SIZE,
    "256MiB",
    minimum=1 << 16,
    maximum=8 << 30,
)

OPTIONS = (QUERY, _TIMEOUT, _TIME, _WINDOW, _SLIDE, _LATENESS, _IDLE, _BY, _WITHIN, _STATE, _LOST, _STATE_BYTES)


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The options, read. Times are milliseconds.

    Attributes:
        text: The SQL as it was given, or that of all records.
        query: Parsed.
        tables: The files of the tables, by name.
        timeout: Seconds.
        time: The column with the time; empty: the time of the message.
        window: How long windows are; 0: there are none.
        slide: From the begin of one to that of the next.
        lateness: See the option.
        idle: See the option.
        by: Columns of duplicates; empty: none are looked for.
        within: See the option.
        state: The folder; empty where nothing is kept.
        may_be_empty: query.state.lost=empty.
        state_bytes: See the option.
    """

    text: str
    query: StreamQuery
    tables: Mapping[str, str]
    timeout: float
    time: str
    window: int
    slide: int
    lateness: int
    idle: int
    by: tuple[str, ...]
    within: int
    state: str
    may_be_empty: bool
    state_bytes: int

    @property
    def keeps(self) -> bool:
        """Whether something is kept from batch to batch."""
        return bool(self.window or self.by)

    @property
    def meaning(self) -> str:
        """What a state has to be of to be this query's."""
        parts = (self.text, self.time, self.window, self.slide, self.by, self.within)
        return repr(parts if self.window else parts[1:])

    @classmethod
    def of(cls, config: Config) -> "QuerySettings | None":
        """Those of a configuration without problems; None: it has no query."""
        if not (config[QUERY.key] or config[_BY.key]):
            return None
        text = config[QUERY.key] or _EVERYTHING
        tables = dict(config.prefixed(TABLES))
        window = _milliseconds(config[_WINDOW.key])
        return cls(
            text,
            parse_query(text, tables, windowed=bool(window)),
            tables,
            config[_TIMEOUT.key],
            config[_TIME.key],
            window,
            _milliseconds(config[_SLIDE.key]) or window,
            _milliseconds(config[_LATENESS.key]),
            _milliseconds(config[_IDLE.key]),
            tuple(config[_BY.key]),
            _milliseconds(config[_WITHIN.key]),
            config[_STATE.key],
            config[_LOST.key] == "empty",
            config[_STATE_BYTES.key],
        )


def _milliseconds(seconds: float | None) -> int:
    return round((seconds or 0) * 1000)


def query_problems(plugin: Sink, config: Config) -> Iterable[Problem]:
    """What is wrong with them together. Reads the files of tables."""
    text, by, window = config[QUERY.key], config[_BY.key], config[_WINDOW.key]
    tables = config.prefixed(TABLES)
    if not text and not by:
        yield from _without_query(config, tables)
        return
    if isinstance(plugin, BufferedSink):
        fix = "Leave it out, or use another sink: those that write a batch at once take queries."
        yield Problem(QUERY.key, text[:200], f"is not for {plugin.name}, which makes records durable later than it takes them", fix)
    problems = list(_table_problems(tables))
    yield from problems
    yield from _kept_problems(config)
    try:
        query = parse_query(text or _EVERYTHING, tables, windowed=window is not None)
    except ValueError as error:
        fix = "Write for instance SELECT id, upper(name) AS name FROM records WHERE id > 0"
        if window is None:
            fix += "; for aggregates set query.window, such as 1m, and query.state: the query is then run over each window"
        yield Problem(QUERY.key, text[:200], str(error), f"{fix}.")
        return
    if not problems and (why := _unknown_function(query, tuple(sorted(tables.items())), windowed=window is not None)):
        yield Problem(QUERY.key, text[:200], f"has an {why}", "See DuckDB's documentation for the functions there are.")


def column_problems(config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
    """Columns that the query reads and such rows do not have, by topic: warnings, as others may follow. Reads files of tables."""
    text, tables = config[QUERY.key], config.prefixed(TABLES)
    if not text or list(_table_problems(tables)):
        return
    try:
        query = parse_query(text, tables, windowed=config[_WINDOW.key] is not None)
    except ValueError:
        return  # told by query_problems
    others = {name for path in tables.values() for name in read_table(path).table.column_names}
    for topic, schema in rows.items():
        there = {field.name for field in schema.fields} if schema.type is Type.STRUCT else {WHOLE}
        known = {name.casefold() for name in (*there, *others, *WINDOW)}
        if missing := [name for name in query.needs if name.casefold() not in known]:
            reason = f"names {', '.join(missing)}, which the newest messages of {topic} do not have: {', '.join(sorted(there))}"
            yield Problem(QUERY.key, text[:200], reason, "Name columns that are there.", is_warning=True)


def _without_query(config: Config, tables: Mapping[str, str]) -> Iterable[Problem]:
    given = [option.key for option in OPTIONS if option.key in config.raw and config.raw[option.key].strip()]
    for key in (*given, *(TABLES + name for name in tables)):
        if config.raw.get(key, ""):
            yield Problem(
                key,
                config.raw[key][:200],
                "is for a query, and there is none",
                "Give query (or query.deduplicate.by), or leave it out.",
            )


def _kept_problems(config: Config) -> Iterable[Problem]:
    by, within, window, slide = (config[each.key] for each in (_BY, _WITHIN, _WINDOW, _SLIDE))
    if by and within is None:
        yield Problem(
            _WITHIN.key,
            "",
            "is missing: all keys that ever came would have to be kept",
            "Give a time such as 10m behind which they are forgotten.",
        )
    if within is not None and not by:
        yield Problem(_WITHIN.key, str(within), "is for duplicates, and no columns tell them", f"Give {_BY.key}, or leave it out.")
    if slide is not None and (window is None or slide > window):
        wrong = (
            "is for windows, and there are none"
            if window is None
            else "is longer than the window: records between two would be in none"
        )
        yield Problem(_SLIDE.key, str(slide), wrong, f"Give a time up to {_WINDOW.key}, or leave it out.")
    if not by and window is None:
        return
    if not config[_STATE.key]:
        fix = "Name a folder beneath those that executors may write, which all of them see."
        yield Problem(_STATE.key, "", "is missing: windows and duplicates are kept from batch to batch", fix)
    if config["max.tasks"] != 1:
        wrong = (
            "is more than one task, and the records of a window or a key may come over the queues of several: each would write its "
            "own row of a window, and keep a key that another one has kept"
        )
        fix = "Leave it at 1 with query.window and query.deduplicate.by; filters and joins with files take any number of tasks."
        yield Problem("max.tasks", str(config["max.tasks"]), wrong, fix)


def _table_problems(tables: Mapping[str, str]) -> Iterable[Problem]:
    limits = roots(Access.READ)
    for name, path in tables.items():
        key = TABLES + name
        if not _NAME.fullmatch(name) or name.casefold() == TABLE:
            yield Problem(key, path[:200], "is not a name of a table", "Use letters, digits and _, and not records.")
        elif reason := limits.problem(path):
            yield Problem(key, path[:200], reason, limits.fix(path))
        elif Path(path).suffix.lower() not in FORMATS:
            yield Problem(key, path[:200], "has no ending that says what it is", f"Use one of {', '.join(FORMATS)}.")
        else:
            try:
                read_table(path)
            except ConnectorError as error:
                yield Problem(
                    key, path[:200], str(error), "Put the file there, where every executor that may run the sink sees it."
                )


@lru_cache(maxsize=64)
def _unknown_function(query: StreamQuery, tables: tuple[tuple[str, str], ...], *, windowed: bool) -> str:
    """Which columns there are, and of which types, only the records show; which functions there are is known."""
    import pyarrow as pa

    process = SqlProcess(query.text, _CHECK_SECONDS)
    process.set_tables({name: read_table(path).table for name, path in tables})
    names = dict.fromkeys((*query.needs, *query.about) if windowed else (INDEX, *query.needs, *query.about))
    try:
        process.run(pa.table({name: pa.array([], pa.null()) for name in names}))
    except RecordError as error:
        return str(error) if str(error).startswith(UNKNOWN_FUNCTION) else ""
    finally:
        process.close()
    return ""

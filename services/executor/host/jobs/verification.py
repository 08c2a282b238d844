"""Compares the tables of a source with what a sink keeps of them: a part of them at a time. Reads only.

Runs in a process of its own, which ends with the answer.
"""

import json
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConnectorError, Problem
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.verification import (
    CapturedTable,
    KeptRows,
    Key,
    ReadRows,
    SinkTables,
    SourceTables,
    TableRows,
    has_order,
    key_of,
    keys_of,
    order_of,
    shown_key,
)
from rocketconnect_sdk.wording.counts import counted
from services.executor.contract import answers, questions
from services.executor.secrets.resolving import hide, resolve
from services.executor.verification.comparing import Difference, Kind, Part, Range, differences, ranges
from services.executor.verification.json_meaning import by_meaning

_AS_JSON = (Type.JSON, Type.STRUCT, Type.ARRAY, Type.MAP)

_LONGEST = 1_000
"""Characters of what is said of a row."""

MOST_DIFFERENCES = 1_000
"""So many are told at once; the next part begins behind them."""


class VerificationRejected(Exception):  # it is told as a problem
    """There is nothing to compare; says what to do."""

    def __init__(self, key: str, value: str, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.problem = Problem(key, value, hide(reason), hide(fix))


@dataclass(frozen=True, slots=True)
class Pair:
    """A table and what a sink makes of it."""

    table: CapturedTable
    sink: str
    target: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a comparison goes on: behind a key of a table."""

    table: str = ""
    key: Sequence[int | str] | None = None
    """As JSON has it."""

    @classmethod
    def of(cls, token: str) -> "_Place":
        if not token:
            return cls()
        match _given(token):
            case [str(table), list(key)]:
                return cls(table, key)
        raise VerificationRejected("page_token", token[:200], "is none that an answer had", "Give the one of the last answer.")

    @property
    def token(self) -> str:
        return json.dumps([self.table, self.key])


def verify(order: questions.VerifyConnector) -> answers.Verified:
    """Compare as much as there is time for, or say why nothing can be compared."""
    try:
        return _Verification(order).run()
    except VerificationRejected as refused:
        return answers.Verified([refused.problem], [], [], "", "")
    except ConnectorError as error:
        return answers.Verified([], [], [], "", hide(str(error)))
    except Exception:
        return answers.Verified([], [], [], "", hide(f"a defect of the plugin: {traceback.format_exc()}"))


class _Verification:
    def __init__(self, order: questions.VerifyConnector) -> None:
        self._order = order
        self._until = time.monotonic() + order.seconds
        self._differences: list[answers.RowDifference] = []
        self._tables: list[answers.TableCompared] = []

    def run(self) -> answers.Verified:
        source = self._source()
        sinks = {given.name: sink for given in self._order.sinks if (sink := self._sink(given)) is not None}
        if not sinks:
            names = ", ".join(given.name for given in self._order.sinks)[:200]
            fix = "Name a connector that writes tables: jdbc_sink, clickhouse_sink, doris_sink."
            reason = "writes no tables of a database" if names else "there is none that writes tables"
            raise VerificationRejected("sink", names, reason, fix)
        pairs = paired(source.tables(), sinks, self._order.tables)
        for name in sorted({pair.sink for pair in pairs}):
            _refuse_transforms(next(given for given in self._order.sinks if given.name == name), self._order.tables)
        place = _Place.of(self._order.page_token)
        behind = ""
        for pair in pairs:
            if pair.table.name < place.table or (self._order.next_table and pair.table.name == place.table):
                continue
            begin = place.key if pair.table.name == place.table else None
            with source.open(pair.table.name) as rows, sinks[pair.sink][1].open(pair.target) as kept:
                end = self._of_keys(pair, rows, kept) if self._order.keys else self._all(pair, rows, kept, begin)
            if end is not None:
                behind = _Place(pair.table.name, shown_key(end)).token
                break
        return answers.Verified([], self._tables, self._differences, behind, "")

    def _source(self) -> SourceTables:
        given = self._order.source
        plugin = find(given.config[CLASS.key])
        if not isinstance(plugin, Source):
            raise VerificationRejected(
                "connector",
                given.name,
                f"is no source: its class is {plugin.name}",
                "Name the source; its sink is the second name.",
            )
        _refuse_transforms(given, self._order.tables)
        tables = plugin.tables(resolve(parse_source(plugin, given.config)))
        if tables is None:
            fix = "Name a connector that reads tables: mysql_cdc_source, postgres_cdc_source, jdbc_source."
            raise VerificationRejected("connector", given.name, f"reads no tables of a database: its class is {plugin.name}", fix)
        return tables

    def _sink(self, given: questions.NamedConnector) -> tuple[Sequence[str], SinkTables] | None:
        """The topics that it reads and its tables; None: it has none."""
        plugin = find(given.config[CLASS.key])
        if not isinstance(plugin, Sink) or type(plugin).tables is Sink.tables:
            # Its secrets need not be known here.
            return None
        config = resolve(parse_sink(plugin, given.config))
        tables = plugin.tables(config)
        return None if tables is None else (config["topics"], tables)

    def _all(self, pair: Pair, rows: TableRows, kept: KeptRows, begin: Sequence[int | str] | None) -> Key | None:
        """Where the time was over, or there were too many differences; None: the table is done."""
        names, left_out = compared(pair, rows, kept)
        start = None if begin is None else _key(begin, json.dumps(begin), names, rows)
        count = 0
        end: Key | None = None
        form = _Form(rows, kept, names)
        with closing(rows.behind(start, names)) as mine, closing(kept.behind(start, names)) as theirs:
            for each in ranges(
                (form.part(read, rows.columns) for read in mine), (form.part(read, kept.columns) for read in theirs)
            ):
                found, room = differences(each), MOST_DIFFERENCES - len(self._differences)
                self._tell(pair, found[:room], rows, names)
                end = found[room - 1].key if len(found) > room else each.end
                count += each.rows_to(end)
                if time.monotonic() > self._until or len(found) >= room:
                    break
                end = None
        self._tables.append(answers.TableCompared(pair.table.name, pair.sink, pair.target, count, end is None, left_out))
        return end

    def _of_keys(self, pair: Pair, rows: TableRows, kept: KeptRows) -> Key | None:
        """See `_all`; only the rows that are asked for."""
        names, _ = compared(pair, rows, kept)
        wanted = {_key(_given(each.key), each.key, names, rows) for each in self._order.keys if each.table == pair.table.name}
        if not wanted:
            return None
        keys, form = sorted(wanted), _Form(rows, kept, names)
        mine, theirs = (_only(form.part(side.of(keys, names), side.columns), wanted) for side in (rows, kept))
        self._tell(pair, differences(Range(keys[-1], mine, theirs)), rows, names)
        return None

    def _tell(self, pair: Pair, found: Sequence[Difference], rows: TableRows, names: Sequence[str]) -> None:
        schemas = {field.name: field.schema for field in rows.columns.fields}
        # Rows that only the sink has are named by their keys to the source, which takes whole numbers and texts.
        by_keys = all(has_order(schemas[name]) for name in names)
        self._differences += [
            answers.RowDifference(
                pair.table.name,
                pair.sink,
                pair.target,
                json.dumps(shown_key(each.key), ensure_ascii=False),
                each.kind.value,
                hide(each.about)[:_LONGEST],
                each.source,
                each.sink,
                rows.condition(each.key, names) if by_keys or each.kind is not Kind.EXTRA else "",
            )
            for each in found
        ]


def paired(
    tables: Sequence[CapturedTable], sinks: Mapping[str, tuple[Sequence[str], SinkTables]], given: Mapping[str, str]
) -> list[Pair]:
    """Which table is kept where, by name of the table.

    Args:
        tables: Of the source.
        sinks: By name: the topics that each reads, and its tables.
        given: By table of the source the target, where people say it; empty target: what the sink makes of the name. None: all.

    Raises:
        VerificationRejected: there is nothing to compare, or it is not known with what.
    """
    known = {table.name: table for table in tables}
    for name in given:
        if name not in known:
            raise VerificationRejected(
                "tables", name, "is no table that the source reads", f"It reads {', '.join(known)[:1000] or 'none'}."
            )
    read = {topic for topics, _ in sinks.values() for topic in topics}
    chosen = [known[name] for name in sorted(given or known)]
    pairs = []
    for table in chosen:
        readers = [name for name, (topics, _) in sinks.items() if table.topic in topics]
        if len(readers) > 1:
            raise VerificationRejected(
                "sink", "", f"{', '.join(sorted(readers))} all read {table.topic}", "Name the one that is meant."
            )
        if not readers and table.name in given and len(sinks) == 1:
            # People know better: a transform may have sent the records elsewhere.
            readers = list(sinks)
        pairs += [Pair(table, name, given.get(table.name) or sinks[name][1].target(table)) for name in readers]
    if not pairs:
        topics = ", ".join(sorted({table.topic for table in chosen}))[:500] or "none: the source reads no table"
        reason = f"reads none of the topics of these tables ({topics}), but {', '.join(sorted(read))[:500] or 'none at all'}"
        raise VerificationRejected("sink", ", ".join(sorted(sinks))[:200], reason, "Name the sink that reads them.")
    return pairs


def compared(pair: Pair, rows: TableRows, kept: KeptRows) -> tuple[Sequence[str], list[str]]:
    """The columns of the key, and what is said of columns that only one side has.

    Raises:
        VerificationRejected: the table has no key that both sides have in the same order.
    """
    name, target = pair.table.name, pair.target
    names = list(rows.key)
    if not names:
        fix = "Give the table a primary key: without one its rows cannot be told from each other."
        raise VerificationRejected("tables", name, "has no key", fix)
    mine, theirs = ({field.name: field.schema for field in side.columns.fields} for side in (rows, kept))
    missing = [column for column in names if column not in theirs]
    if missing:
        raise VerificationRejected(
            "tables", name, f"has the key {', '.join(names)}, and {target} has no {', '.join(missing)}", "Add the column."
        )
    unordered = [name for name in names if not (rows.orders(mine[name]) and kept.orders(theirs[name]))]
    if unordered:
        reason = f"has a key with {', '.join(unordered)}, whose order is not the same in every database"
        fix = "Keys of numbers, texts, UUIDs, dates, timestamps and bytes can be compared, but for SQLite's decimals and times."
        raise VerificationRejected("tables", name, reason, fix)
    for column in names:
        if (one := order_of(mine[column])) != (other := order_of(theirs[column])):
            reason = f"has {one} in {column} of its key, and {target} has {other}"
            raise VerificationRejected("tables", name, reason, "Change the column, so that both are of one type.")
    left_out = [f"{column}: not in {target}" for column in mine if column not in theirs]
    return names, left_out + [f"{column}: not in {name}" for column in theirs if column not in mine]


def _given(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _key(given: object, text: str, names: Sequence[str], rows: TableRows) -> Key:
    schemas = {field.name: field.schema for field in rows.columns.fields}
    if not isinstance(given, list) or len(given) != len(names):
        raise VerificationRejected(
            "keys", text[:200], f"is no key of {counted(names, 'column')}", "Give a JSON array, as the answers have it."
        )
    try:
        return key_of(given, [schemas[name] for name in names])
    except ValueError as error:
        raise VerificationRejected(
            "keys", text[:200], f"is no key of {counted(names, 'column')}: {error}", "Give it as the answers have it."
        ) from None


def _refuse_transforms(given: questions.NamedConnector, tables: Mapping[str, str]) -> None:
    if given.config.get("transforms", "").strip() and not all(tables.values() or [""]):
        reason = f"{given.name} has transforms, which may send rows to other tables"
        raise VerificationRejected("tables", "", reason, "Say where the rows of each table are kept: --table SOURCE=TARGET.")


class _Form:
    """Rows of both sides in the form in which they are compared: as the sink keeps them, of the columns that both have."""

    def __init__(self, rows: TableRows, kept: KeptRows, names: Sequence[str]) -> None:
        there = {field.name for field in rows.columns.fields}
        self._columns = [field.name for field in kept.columns.fields if field.name in there]
        fields = [*rows.columns.fields, *kept.columns.fields]
        self._json = {field.name for field in fields if field.schema.type in _AS_JSON}
        self._kept = kept
        self._names = names

    def part(self, read: ReadRows, columns: Schema) -> Part:
        """Rows of a schema."""
        values, wrong = self._kept.kept(read.values, columns)
        made = {name: values[name].combine_chunks() for name in self._columns}
        made |= {name: by_meaning(made[name]) for name in self._json & made.keys()}
        return Part(keys_of(to_spark(read.values), self._names), pa.table(made), {**wrong, **read.wrong})


def _only(part: Part, wanted: set[Key]) -> Part | None:
    """Those of these keys."""
    places = sorted((place for place, key in enumerate(part.keys) if key in wanted), key=lambda place: part.keys[place])
    if not places:
        return None
    wrong = {number: part.wrong[place] for number, place in enumerate(places) if place in part.wrong}
    return Part([part.keys[place] for place in places], part.rows.take(places), wrong)

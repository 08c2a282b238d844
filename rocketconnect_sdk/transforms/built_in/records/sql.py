"""sql: a SELECT over the records, each by itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError, Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.transforms.base import Record, Records, Transform, in_order
from rocketconnect_sdk.transforms.processes.sql import UNKNOWN_FUNCTION, SqlProcess
from rocketconnect_sdk.transforms.row_sql import ABOUT, INDEX, parse
from rocketconnect_sdk.transforms.sql_columns import about, computed, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

_CHECK_SECONDS = 10.0


def _query_problem(text: str) -> str | None:
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=256)
def _unknown_function(text: str) -> str:
    """Which columns there are, and of which types, only the records show; which functions there are is known."""
    import pyarrow as pa

    query = parse(text)
    process = SqlProcess(query.text, _CHECK_SECONDS)
    try:
        process.run(pa.table({name: pa.array([], pa.null()) for name in (INDEX, *query.needs)}))
    except RecordError as error:
        return str(error) if str(error).startswith(UNKNOWN_FUNCTION) else ""
    finally:
        process.close()
    return ""


class Sql(Transform):
    """Makes of each record what a SELECT makes of it, or drops it by WHERE. Runs in DuckDB on columns. Tombstones pass.

    The fields of the value are the columns; a value that is no struct is the column value. _key, _topic, _timestamp_ms and _headers
    are there, too. Columns that are only named keep their type; others get the type that DuckDB gives them.
    """

    name: ClassVar[str] = "sql"
    options: ClassVar[Sequence[Option]] = (
        Option(
            "query",
            "SELECT ... FROM records [WHERE ...] in DuckDB's dialect. Each record is a row, and becomes one or none by itself: "
            "there are no joins, aggregates, windows and limits.",
            required=True,
            check=_query_problem,
            fix="Write for instance SELECT id, upper(name) AS name FROM records WHERE id > 0",
            example="SELECT id, upper(name) AS name FROM records WHERE id > 0",
        ),
        Option("timeout", "How long it may take for a batch.", Kind.DURATION, "30s", minimum=0.1),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._query = parse(config["query"])
        self._process = SqlProcess(self._query.text, config["timeout"])

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if why := _unknown_function(config["query"]):
            yield Problem(
                "query", config["query"][:200], f"has an {why}", "See DuckDB's documentation for the functions there are."
            )

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        (done,) = self.apply_each([record])
        if isinstance(done, Exception):
            raise done
        return done

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        if None in records.values or not len(records):
            return None
        return self._run(records)

    def apply_each(self, records: Sequence[Record]) -> Sequence[Record | Exception | None]:
        """See Transform."""
        done: list[Record | Exception | None] = list(records)
        rows = [(index, record) for index, record in enumerate(records) if record.value is not None]
        for run in in_order(rows):
            for index in run.indexes:
                done[index] = None
            self._halved(run, done)
        return done

    def close(self) -> None:
        """See Transform."""
        self._process.close()

    def _halved(self, records: Records, done: list[Record | Exception | None]) -> None:
        """Halves what fails until the bad ones are found."""
        try:
            found = self._run(records)
        except RecordError as error:
            if len(records) == 1:
                done[records.indexes[0]] = error
                return
            middle = len(records) // 2
            self._halved(records.take(range(middle)), done)
            self._halved(records.take(range(middle, len(records))), done)
            return
        for index, record in zip(found.indexes, found.each(), strict=True):
            done[index] = record

    def _run(self, records: Records) -> Records:
        rows, schema = rows_of(records)
        result = self._result(rows, records)
        places = result.column(INDEX).to_pylist()
        if any(later <= earlier for earlier, later in pairwise(places)):
            msg = "the query gives several rows for one record, or others: each becomes one, or none, by itself"
            raise PermanentError(msg)
        taken = records.take(places)
        arrays: dict[str, Any] = {}
        fields: dict[str, Schema] = {}
        columns = {field.name: field.schema for field in schema.fields}
        for output in self._query.outputs:
            for name, source in _sources(output.name, output.field, output.without, columns):
                if name in fields:
                    msg = f"the query gives two columns the name {name!r}"
                    raise RecordError(msg)
                if source:
                    arrays[name], fields[name] = rows.field(source).take(result.column(INDEX).combine_chunks()), columns[source]
                else:
                    arrays[name], fields[name] = computed(result.column(name))
        return _with_values(taken, arrays, fields, schema if records.schema is not None else None)

    def _result(self, rows: "pa.StructArray", records: Records) -> "pa.Table":
        import pyarrow as pa

        names = [field.name for field in rows.type]
        table: dict[str, Any] = {name: rows.field(name) for name in names if name in self._query.needs}
        table |= {name: about(records, name) for name in ABOUT if name in self._query.needs}
        missing = [name for name in self._query.needs if name not in table]
        named = [output.field for output in self._query.outputs if output.field and output.field not in names]
        # DuckDB would leave out the other one; here a name is what it is.
        folded = {name.lower() for name in names}
        excluded = [
            name for output in self._query.outputs for name in output.without if name not in names and name.lower() in folded
        ]
        if missing or named or excluded:
            msg = f"there is no column {', '.join(map(repr, [*missing, *named, *excluded]))}, but {', '.join(map(repr, names))}"
            raise RecordError(msg)
        table[INDEX] = pa.array(range(len(rows)), pa.int64())
        return self._process.run(pa.table(table))


def _sources(name: str, field: str, without: Sequence[str], columns: Mapping[str, Schema]) -> list[tuple[str, str]]:
    """(name, field of the record that it is; empty: computed) of each column that one output stands for."""
    return [(name, field)] if name else [(each, each) for each in columns if each not in without]


def _with_values(records: Records, arrays: Mapping[str, Any], fields: Mapping[str, Schema], schema: Schema | None) -> Records:
    import pyarrow as pa

    from rocketconnect_sdk.columns.arrow_types import to_arrow_type

    found = Schema(Type.STRUCT, fields=tuple(Field(name, each) for name, each in fields.items()))
    array = pa.StructArray.from_arrays(list(arrays.values()), fields=list(to_arrow_type(found)))
    if schema is None:
        return replace(records, values=list(Column(array)))
    named = replace(found, name=schema.name, version=schema.version, doc=schema.doc)
    return replace(records, values=Column(array) if isinstance(records.values, Column) else list(Column(array)), schema=named)

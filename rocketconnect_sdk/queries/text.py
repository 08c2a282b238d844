"""What is allowed of the SQL of a sink, and what it needs. Pure; parsed by sqlglot in DuckDB's dialect."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketconnect_sdk.transforms.row_sql import ABOUT, INDEX, OF_SEVERAL, TABLE, clauses, statements

if TYPE_CHECKING:
    from sqlglot import exp

WINDOW = ("window_start", "window_end")
"""Columns of the records of a window."""

_NOT_ONE = f"is not one SELECT ... FROM {TABLE}"  # noqa: S608  # a message


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A query as it is run.

    Attributes:
        text: The SQL. Of one without windows its result has the column INDEX, the number of the record that each row is of.
        needs: The columns that it may read of the records, by name; those of other tables may be among them.
        every: It reads all columns.
        about: Those of ABOUT that it names.
    """

    text: str
    needs: tuple[str, ...]
    every: bool
    about: tuple[str, ...]


def parse_query(text: str, tables: Collection[str], *, windowed: bool) -> StreamQuery:
    """The query of a text.

    Args:
        text: The SQL.
        tables: The names of the tables beside `records`.
        windowed: It is run over the records of each window by itself, so it may do with them what it wants.

    Raises:
        ValueError: it is not valid, or not allowed: the text says what is wrong and where.
    """
    from sqlglot import exp

    parsed = statements(text)
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Query):
        raise ValueError(_NOT_ONE)
    query = parsed[0]
    _check_tables(query, tables)
    _check_names(query)
    named = list(_of_records(query))
    about = tuple(name for name in ABOUT if name in named)
    every = any(not isinstance(star.parent, exp.Count) for star in query.find_all(exp.Star))
    named += [name.name for join in query.find_all(exp.Join) for name in join.args.get("using") or ()]
    needs = tuple(dict.fromkeys(name for name in named if name not in ABOUT))
    if windowed:
        return StreamQuery(text, needs, every, about)
    select = _with_index(_of_rows(query), about)
    # Several rows of one record come in the same order each time: their numbers tell them apart.
    order = " ORDER BY ALL" if select.args.get("joins") or select.find(exp.Explode, exp.Unnest) else ""
    return StreamQuery(select.sql(dialect="duckdb") + order, needs, every, about)


def _of_records(query: "exp.Query") -> Iterator[str]:
    """The names of columns that may be those of the records: all but those that are said, or known, to be of something else."""
    from sqlglot import exp

    tables = list(query.find_all(exp.Table))
    of_records = {table.alias_or_name for table in tables if table.name == TABLE}
    others = {table.alias_or_name for table in tables} | {each.alias for each in query.find_all(exp.Subquery, exp.CTE)}
    made = {name.casefold() for name in _made_names(query)}
    for column in query.find_all(exp.Column):
        names = [part.name for part in column.parts if not isinstance(part, exp.Star)]
        if names and names[0] in of_records:
            yield from names[1:2]
        elif names and (len(column.parts) == 1 or names[0] not in others) and names[0].casefold() not in made:
            yield names[0]


def _made_names(query: "exp.Query") -> Iterator[str]:
    """Names that the query gives to what it computes: where such a name is used alone, no column of the records is meant.

    But for a column that is computed of one of the same name, as in `price::DOUBLE AS price`.
    """
    from sqlglot import exp

    for alias in query.find_all(exp.Alias):
        if all(column.name.casefold() != alias.alias.casefold() for column in alias.this.find_all(exp.Column)):
            yield alias.alias
    for table in query.find_all(exp.TableAlias):
        yield from (column.name for column in table.args.get("columns") or ())


def _check_names(query: "exp.Query") -> None:
    """Raises ValueError: what a name means would depend on whether the records of a batch have such a field.

    DuckDB takes the column where there is one, and else what the query computes under the name.
    """
    from sqlglot import exp

    for select in query.find_all(exp.Select):
        joins = select.args.get("joins") or ()
        start = select.args["from_"].this if select.args.get("from_") else None
        read = [each for each in (start, *(join.this for join in joins)) if isinstance(each, exp.Table) and each.name == TABLE]
        if not read:
            continue
        made = {name.casefold() for each in select.expressions for name in _made_names(each)}
        within = [each for each in (*select.expressions, *joins, select.args.get("where")) if each is not None]
        columns = (column for each in within for column in each.find_all(exp.Column))
        for column in columns:
            if len(column.parts) == 1 and column.name.casefold() in made and column.find_ancestor(exp.Select) is select:
                msg = (
                    f"uses {column.name}, which may be a field of the records or what is computed AS {column.name}: write "
                    f"{read[0].alias_or_name}.{column.name} for the field, or another name behind AS"
                )
                raise ValueError(msg)


def _check_tables(query: "exp.Query", tables: Collection[str]) -> None:
    from sqlglot import exp

    made = {each.alias for each in query.find_all(exp.CTE)}
    named = [table.name if not table.db else f"{table.db}.{table.name}" for table in query.find_all(exp.Table)]
    if unknown := sorted({name for name in named if name not in made and name != TABLE and name not in tables}):
        word = "a table" if len(unknown) == 1 else "tables"
        which = ", ".join(name or "a function" for name in unknown)
        msg = f"reads {word} that no option names: {which} (query.tables.{unknown[0] or 'NAME'} = the path of its file)"
        raise ValueError(msg)
    if TABLE not in named:
        msg = f"does not select from the table {TABLE}"
        raise ValueError(msg)


def _of_rows(query: "exp.Query") -> "exp.Select":
    """A query that makes of each record some rows by itself."""
    from sqlglot import exp

    if not isinstance(query, exp.Select):
        raise ValueError(_NOT_ONE)  # noqa: TRY004  # a text is wrong, not a type
    if query.args.get("with_"):
        msg = "has WITH, which is taken with query.window alone: write a subquery where it is used"
        raise ValueError(msg)
    if wrong := list(dict.fromkeys(_refused(query))):
        msg = (
            f"has {', '.join(wrong)}, for which several records are needed, and says no window behind which they are complete "
            "(there is no watermark): its state would grow for ever"
        )
        raise ValueError(msg)
    read = [table for table in query.find_all(exp.Table) if table.name == TABLE]
    start = query.args["from_"].this if query.args.get("from_") else None
    if len(read) != 1 or read[0] is not start:
        msg = f"reads {TABLE} elsewhere than once, behind FROM: each record is joined with other tables by itself"
        raise ValueError(msg)
    for join in query.args.get("joins") or ():
        if join.side in {"RIGHT", "FULL"}:
            msg = f"has a {join.side} JOIN, which gives rows that are of no record: use JOIN or LEFT JOIN"
            raise ValueError(msg)
    return query


def _refused(select: "exp.Select") -> Iterator[str]:
    from sqlglot import exp

    yield from clauses(select, OF_SEVERAL)
    for kind, name in ((exp.AggFunc, "an aggregate"), (exp.Window, "a window function")):
        # Those within a subquery are of another table.
        if any(found.find_ancestor(exp.Select) is select for found in select.find_all(kind)):
            yield name


def _with_index(select: "exp.Select", about: Sequence[str]) -> "exp.Select":
    """With the number of its record in each row; what is there besides the fields is not in `*`."""
    from sqlglot import exp

    table = select.args["from_"].this.alias_or_name
    for projection in select.expressions:
        star = projection.this if isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star) else projection
        of_records = star is projection or projection.text("table") == table
        if isinstance(star, exp.Star) and of_records:
            hidden = [exp.column(name, quoted=True) for name in (INDEX, *about)]
            star.set("except_", [*(star.args.get("except_") or ()), *hidden])
    index = exp.column(INDEX, table=table, quoted=True).as_(INDEX, quoted=True)
    return select.select(index, *select.expressions, append=False)

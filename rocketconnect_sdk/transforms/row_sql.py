"""SQL that makes one row of one: what is allowed of a SELECT, and what it needs. Pure; parsed by sqlglot in DuckDB's dialect."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

TABLE = "records"
INDEX = "_index"
ABOUT = ("_key", "_topic", "_timestamp_ms", "_headers")
"""Columns that are there besides the fields, when they are named."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result.

    Attributes:
        name: Its name; empty: the fields of the record that are not in `without`.
        field: The field that it is, as it is; empty: it is computed, or it stands for all.
        without: See name.
    """

    name: str
    field: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query as it is run.

    Attributes:
        outputs: The columns of the result, in order.
        text: The SQL that gives the number of each row that stays, and the computed columns.
        needs: The columns that this SQL reads.
    """

    outputs: tuple[Output, ...]
    text: str
    needs: tuple[str, ...]


def parse(text: str) -> RowQuery:
    """The query of a text.

    Raises:
        ValueError: it is not valid, or not of one row: the text says what is wrong and where.
    """
    return _query(statements(text))


def statements(text: str) -> "list[exp.Expr]":
    """What a text has of SQL in DuckDB's dialect.

    Raises:
        ValueError: it is not valid: the text says what is wrong and where.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return [each for each in sqlglot.parse(text, dialect="duckdb") if each is not None]
    except SqlglotError as error:
        msg = f"is not valid SQL: {_plain(str(error))}"
        raise ValueError(msg) from None
    except RecursionError:
        msg = "is not valid SQL: nested too deep"
        raise ValueError(msg) from None


def _plain(text: str) -> str:
    # The parser underlines what it does not understand with terminal codes.
    return " ".join(text.replace("\x1b[4m", "").replace("\x1b[0m", "").split())[:300]


def _query(parsed: Sequence[object]) -> RowQuery:
    from sqlglot import exp

    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select):
        msg = "is not one SELECT ... FROM records"
        raise ValueError(msg)
    select = parsed[0]
    if wrong := ", ".join(dict.fromkeys(_refused(select))):
        msg = f"has {wrong}: each record becomes one, or none, by itself"
        raise ValueError(msg)
    tables = [table.name for table in select.find_all(exp.Table)]
    if tables != [TABLE]:
        other = f": {', '.join(tables)}" if tables else ""
        msg = f"does not select from the table records{other}"
        raise ValueError(msg)
    table = select.args["from_"].this.alias_or_name
    outputs, computed = [], []
    for number, projection in enumerate(select.expressions):
        output = _output(projection, number, table)
        outputs.append(output)
        if output.name and not output.field:
            computed.append(exp.alias_(projection.unalias(), output.name, quoted=True))
    names = [output.name for output in outputs if output.name]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        msg = f"gives several columns the name {', '.join(doubled)}"
        raise ValueError(msg)
    condition = select.args.get("where")
    parts = [part for part in (*computed, condition) if part is not None]
    needs = [_first(column, table) for part in parts for column in part.find_all(exp.Column)]
    index = exp.column(INDEX, quoted=True)
    source = exp.select(index, *computed).from_(select.args["from_"].this)
    if condition is not None:
        source = source.where(condition.this)
    return RowQuery(tuple(outputs), source.sql(dialect="duckdb"), tuple(dict.fromkeys(needs)))


def _names(column: "exp.Column", table: str) -> list[str]:
    """The parts of its name without the table's: the column, and what is within it."""
    names = [part.name for part in column.parts]
    return names[1:] if len(names) > 1 and names[0] == table else names


def _first(column: "exp.Column", table: str) -> str:
    return _names(column, table)[0]


def _output(projection: "exp.Expression", number: int, table: str) -> Output:
    from sqlglot import exp

    star = projection.this if isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star) else projection
    if isinstance(star, exp.Star):
        if star.args.get("replace") or star.args.get("rename"):
            msg = "replaces or renames columns of *, which is not supported: name the columns"
            raise ValueError(msg)
        return Output("", without=tuple(each.name for each in star.args.get("except_") or ()))
    name = projection.alias_or_name or f"_col{number}"
    plain = projection.unalias()
    if isinstance(plain, exp.Column) and len(_names(plain, table)) == 1 and plain.name not in ABOUT:
        return Output(name, plain.name)
    return Output(name)


OF_SEVERAL = {
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "with_": "WITH",
    "sample": "a sample",
    "windows": "WINDOW",
    "into": "INTO",
    "pivots": "PIVOT",
}
"""What a SELECT may have, as sqlglot names it, that is of several records, and how people name it."""


def clauses(select: "exp.Select", named: Mapping[str, str]) -> Iterator[str]:
    """Those of the names whose parts a SELECT has."""
    return (name for part, name in named.items() if select.args.get(part))


def _refused(select: "exp.Select") -> Iterator[str]:
    """What several records would be needed for, or what makes several of one."""
    from sqlglot import exp

    yield from clauses(select, {"joins": "a JOIN", **OF_SEVERAL, "laterals": "LATERAL"})
    for kind, name in (
        (exp.AggFunc, "an aggregate"),
        (exp.Window, "a window"),
        (exp.Subquery, "a subquery"),
        (exp.Unnest, "UNNEST"),
        (exp.Explode, "EXPLODE"),
    ):
        if select.find(kind):
            yield name
    if any(found is not select for found in select.find_all(exp.Select)):
        yield "a subquery"

"""Which table a record goes to. Where a record says it, it says no other than the operator allows. Pure."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rocketconnect_sdk.configuration.linear_patterns import LONGEST, Allowed
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.jdbc import Dialect

ALLOWED = "table.name.allowed"
_OF_RECORDS = tuple(f"${{{part}}}" for part in ("database", "schema", "table"))


def is_told(form: str) -> bool:
    """Whether records say where they go, by the source of their change. A topic's name is the operator's."""
    return any(part in form for part in _OF_RECORDS)


def by_table(
    form: str, allowed: Allowed | None, dialect: "Dialect", values: "pa.Array", schema: Schema, topics: Sequence[str]
) -> tuple[dict[str, list[int]], dict[int, str]]:
    """The records of each table, by their indexes, and what is wrong with those that go to none.

    Args:
        form: See table.name.format.
        allowed: The names that a record may say; None: all are taken.
        dialect: Of the database.
        values: Of the records.
        schema: Theirs.
        topics: Theirs.
    """
    import pyarrow as pa

    from rocketconnect_sdk.targets.changes import tables_of
    from rocketconnect_sdk.targets.objects import origins_of

    if "${" not in form:
        return {form: list(range(len(values)))}, {}
    found: dict[str, list[int]] = {}
    refused: dict[int, str] = {}
    told = is_told(form)
    origins = origins_of(values) if told and pa.types.is_string(values.type) else tables_of(values, schema)
    for index, (topic, table) in enumerate(zip(topics, origins, strict=True)):
        name = form.replace("${topic}", topic)
        for part, text in table.items():
            name = name.replace(f"${{{part}}}", text or "")
        if "${" in name:
            refused[index] = f"the value does not say what belongs into the name of the table: {name}"
        elif told and (divided := [text for text in table.values() if text and dialect.quoted(text) != dialect.column(text)]):
            refused[index] = f"the value names {divided[0]}, and a point divides a schema from a table"
        elif told and allowed and not allowed.has(name):
            refused[index] = f"the value names the table {name[:LONGEST]}, which {ALLOWED} does not allow"
        else:
            found.setdefault(name, []).append(index)
    return found, refused


def naming_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with what the configuration says of names."""
    form, allowed = config["table.name.format"], config[ALLOWED]
    if is_told(form) and not allowed:
        fix = "Give regular expressions that match the whole names, such as orders.*,customers; .* for all."
        yield Problem(ALLOWED, "", f"is needed with table.name.format={form}: else a record may name any table", fix)
    if allowed and not is_told(form):
        yield Problem(ALLOWED, config.raw.get(ALLOWED, ""), "means nothing where no record names its table", "Remove it.")
    if form.rpartition(".")[2].casefold() == config["positions.table"].rpartition(".")[2].casefold():
        yield Problem("table.name.format", form, "is the table of the positions", "Name another table.")

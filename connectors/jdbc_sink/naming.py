"""Which table a record goes to. Where a record says it, it says no other than the operator allows. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rocketconnect_sdk.configuration.linear_patterns import LONGEST, Allowed
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.jdbc import Dialect

ALLOWED = "table.name.allowed"
SCHEMA_NAME = "${schema.name}"
_OF_CHANGES = tuple(f"${{{part}}}" for part in ("database", "schema", "table"))
_HEADER = re.compile(r"\$\{header\.([^}]+)\}")


def is_told(form: str) -> bool:
    """Whether records say where they go: by the source of their change, their schema or a header. A topic is the operator's."""
    return _is_of_changes(form) or SCHEMA_NAME in form or bool(headers_of(form))


def headers_of(form: str) -> Sequence[str]:
    """The headers that a format names."""
    return _HEADER.findall(form)


def by_table(
    form: str,
    allowed: Allowed | None,
    dialect: "Dialect",
    values: "pa.Array",
    schema: Schema,
    topics: Sequence[str],
    headers: Mapping[str, Sequence[str | None]],
) -> tuple[dict[str, list[int]], dict[int, str]]:
    """The records of each table, by their indexes, and what is wrong with those that go to none.

    Args:
        form: See table.name.format.
        allowed: The names that a record may say; None: all are taken.
        dialect: Of the database.
        values: Of the records.
        schema: Theirs.
        topics: Theirs.
        headers: Those of them that the format names.
    """
    import pyarrow as pa

    from rocketconnect_sdk.targets.changes import tables_of
    from rocketconnect_sdk.targets.objects import origins_of

    if "${" not in form:
        return {form: list(range(len(values)))}, {}
    found: dict[str, list[int]] = {}
    refused: dict[int, str] = {}
    told, of_changes = is_told(form), _is_of_changes(form)
    origins = origins_of(values) if of_changes and pa.types.is_string(values.type) else tables_of(values, schema)
    # A record without a value has no schema, whatever those beside it have.
    named = values.is_valid().to_pylist() if SCHEMA_NAME in form and schema.name else [False] * len(values)
    for index, (topic, table) in enumerate(zip(topics, origins, strict=True)):
        name = form.replace("${topic}", topic)
        if named[index]:
            name = name.replace(SCHEMA_NAME, schema.name)
        for header, texts in headers.items():
            name = name.replace(f"${{header.{header}}}", texts[index] or "${header}")
        for part, text in table.items():
            name = name.replace(f"${{{part}}}", text or "")
        if "${" in name:
            refused[index] = f"the record does not say what belongs into the name of the table: {name}"
        elif of_changes and (divided := [text for text in table.values() if text and dialect.quoted(text) != dialect.column(text)]):
            refused[index] = f"the value names {divided[0]}, and a point divides a schema from a table"
        elif told and allowed and not allowed.has(name):
            refused[index] = f"the value names the table {name[:LONGEST]}, which {ALLOWED} does not allow"
        else:
            found.setdefault(name, []).append(index)
    return found, refused


def _is_of_changes(form: str) -> bool:
    return any(part in form for part in _OF_CHANGES)


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

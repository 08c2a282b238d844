"""What a table has is what its copy has, for every type, from every database to every other.

The rows go through the connectors themselves and JSON with schemas; what both databases have is read by plain drivers.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import Schema
from tests.connectors.jdbc_sink.conftest import Target
from tests.pairs.kinds import drawn
from tests.pairs.sources import Batch, Source, read
from tests.pairs.targets import column_types, exact, rows, said

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]

COUNT = 40
"""Values of each type; in the snapshot, and once more in the log."""
_DATABASES = ("postgres", "mariadb", "sqlite")
_FEW = {("mariadb", "postgres"), ("postgres", "sqlite"), ("sqlite", "mariadb")}
TYPES = Path(__file__).parents[2] / "docs" / "types.md"
JSON = JsonConverter(parse(JsonConverter.options, {}), is_key=False)


def _rows(source: Source) -> list[tuple[Any, ...]]:
    return list(zip(*(drawn(kind.values, COUNT) for kind in source.kinds.values()), strict=True))


def _sent(batch: Batch) -> tuple[Sequence[Any], Schema]:
    """As it is behind a topic."""
    assert not [value for value in batch.values if isinstance(value, Rejected)]
    values, schema = JSON.decode_many(JSON.encode_many(batch.values, batch.schema))
    assert schema is not None
    return values, schema


def _columns(schema: Schema) -> Schema:
    """Of the rows."""
    fields = {field.name: field.schema for field in schema.fields}
    return fields.get("after", schema)


def _compare(source: Source, target: Target, columns: Schema) -> None:
    names = list(source.kinds)
    of = [field.schema for field in columns.fields if field.name != "id"]
    different = []
    for wanted, found in zip(source.rows(), rows(target, "rows", columns), strict=True):
        for name, schema, one, other in zip(names, of, wanted, found, strict=True):
            if one is None or other is None:
                is_same = one is other
            else:
                # MariaDB and SQLite have no other zero than the positive one.
                ours, theirs = (exact(value, schema, signed_zeros=target.kind == "postgres") for value in (one, other))
                is_same = ours == theirs
            if not is_same:
                different.append((name, one, other))
    assert not different, different[:: max(1, len(different) // 10)]


def _copy(source: Source, target: Target, *, again: bool) -> Schema:
    """Fills the source, and the target by its connector; again while changes are read. Gives the columns of the records."""
    source.make()
    made = _rows(source)
    source.fill(1, made)
    task = target.start(insert_mode="upsert", pk_fields="id", auto_create="true")
    with source.reading() as reading:
        batches = read(reading, len(made))
        if again:
            source.fill(1 + len(made), made)
            batches += read(reading, len(made))
    for batch in batches:
        target.write(task, *_sent(batch))
    return _columns(batches[0].schema)


def _published(source: str) -> dict[str, dict[str, str]]:
    """By type of the source what docs/types.md says of it: by the heads of its columns. Equal ones share a line."""
    section = TYPES.read_text().partition(f"### From {source}\n")[2].partition("\n#")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    (_, *heads), _, *rows_ = [[cell.strip(" `") for cell in line] for line in lines]
    return {name: dict(zip(heads, told, strict=True)) for names, *told in rows_ for name in re.split("`, `", names)}


@pytest.mark.slow
@pytest.mark.parametrize("target", _DATABASES, indirect=True)
def test_changes_become_the_rows_that_the_table_has_in_columns_of_the_published_types(logged: Source, target: Target) -> None:
    columns = _copy(logged, target, again=True)
    _compare(logged, target, columns)
    types = column_types(target, "rows")
    name = {"postgres": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}
    of = [field.schema for field in columns.fields if field.name != "id"]
    made = {
        kind: {"record": said(schema), name[target.kind]: types[f"c{number}"]}
        for number, (kind, schema) in enumerate(zip(logged.kinds, of, strict=True))
    }
    published = _published(logged.name)
    assert made == {kind: {head: row[head] for head in made[kind]} for kind, row in published.items() if kind in made}
    assert published.keys() == logged.kinds.keys()


# In `make test` each database is copied once, and once it has the copy.
@pytest.mark.parametrize(
    ("queried", "target"),
    [
        pytest.param(source, target, marks=() if (source, target) in _FEW else pytest.mark.slow)
        for source in _DATABASES
        for target in _DATABASES
    ],
    indirect=True,
)
def test_rows_that_are_asked_for_become_the_rows_that_the_table_has(asked: Source, target: Target) -> None:
    columns = _copy(asked, target, again=False)
    _compare(asked, target, columns)

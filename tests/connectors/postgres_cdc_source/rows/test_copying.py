"""Texts of a column as values, all at once and one by one."""

from datetime import time
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from connectors.postgres_cdc_source.logical.types import GEOMETRY, HSTORE, PgType, builtin
from connectors.postgres_cdc_source.rows import copying
from connectors.postgres_cdc_source.rows.copying import typed, values
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import RecordError


def kind(oid: int, modifier: int = -1) -> PgType:
    found = builtin(oid, modifier, 2)
    assert found is not None
    return found


TIME, UUIDS, JSON, JSONB, BYTEA = map(kind, (1083, 2950, 114, 3802, 17))
NUMERIC = kind(1700, (12 << 16 | 3) + 4)
COLUMNS: list[tuple[PgType, list[str | None]]] = [
    (kind(16), ["t", None, "f"]),
    (kind(20), ["-9223372036854775808", None]),
    (kind(701), ["NaN", "-Infinity", "-0", "1e-300"]),
    (NUMERIC, ["0.001", "-999999999.999", None]),
    (kind(1082), ["0001-01-01", "9999-12-31", None]),
    (kind(1184), ["0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00", None]),
    (TIME, ["00:00:00", None, "23:59:59.999999", "12:30:01.5"]),
    (UUIDS, ["00000000-0000-0000-0000-000000000000", None, "ffffffff-ffff-ffff-ffff-ffffffffff00"]),
    (JSON, ['{"a":  [1, null]}', None, "1e999", '"ü"']),
    (JSONB, ["null", None]),
    (BYTEA, ["\\x", "\\x00ff", None, "\\x5c"]),
    (BYTEA, ["\\\\\\000a", "\\x00", ""]),
    (GEOMETRY, ["0101", None, ""]),
    (HSTORE, ['"a"=>NULL', None]),
    (kind(1007), ["{1,NULL}", None, "{}"]),
    (kind(1186), ["P1Y2DT3.5S", None]),
]


@pytest.mark.parametrize(("kind", "texts"), COLUMNS)
@pytest.mark.parametrize("all_null", [False, True])
def test_a_column_has_the_values_that_its_texts_have_one_by_one(kind: PgType, texts: list[str | None], all_null: bool) -> None:
    array = pa.array([None] * len(texts) if all_null else texts, pa.string())
    found = typed(array, kind)
    assert found.type == to_array([], kind.schema).type
    assert repr(list(Column(found))) == repr(list(Column(to_array(values(array, kind), kind.schema))))


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (TIME, ["12:00:00", "24:00:00"]),
        (UUIDS, ["00000000-0000-0000-0000-000000000000", "no"]),
        (BYTEA, ["\\x0", "\\x1"]),
        (kind(1082), ["2024-01-01", "infinity"]),
        (NUMERIC, ["1.000", "NaN"]),
    ],
)
def test_what_is_none_of_the_type_is_the_error(kind: PgType, texts: list[str]) -> None:
    with pytest.raises((RecordError, ValueError)):
        typed(pa.array(texts, pa.string()), kind)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (TIME, "12:30:01.5", time(12, 30, 1, 500_000)),
        (UUIDS, "00000000-0000-0000-0000-000000000001", UUID(int=1)),
        (JSON, "1", "1"),
        (BYTEA, "\\x00ff", b"\0\xff"),
    ],
)
def test_no_text_of_the_usual_form_is_looked_at_by_itself(
    kind: PgType, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: Any) -> None:
        pytest.fail("each text is looked at")

    monkeypatch.setattr(copying, "values", look)
    assert typed(pa.array([text, None], pa.string()), kind).to_pylist() == [value, None]

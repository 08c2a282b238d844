"""Values at the edges of every type, in columns of every type of Doris: each is written as it is, or has a reason."""

import pyarrow as pa
import pytest

from connectors.doris.dialect import Doris, lines
from connectors.doris.endpoint import Endpoint, Login
from connectors.doris.session import Session
from connectors.doris.types import Column, column_of
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import Schema, struct
from rocketconnect_sdk.tables import TableSettings
from rocketconnect_sdk.tables.columns import met
from rocketconnect_sdk.tables.dialect import fitted
from rocketconnect_sdk.targets.rows import Rows
from tests.rocketconnect_sdk.edges import EDGES

TABLES = Doris(Session(Endpoint("http://h", 1, "d"), Login("", "")), TableSettings("t", False, Policy.FAIL, None), "")
_WHOLE = ["tinyint", "smallint", "int", "bigint", "largeint"]
KINDS = ["boolean", *_WHOLE, "float", "double", "decimal(9,2)", "date", "datetime", "datetime(3)", "varchar(3)", "string", "json"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_what_it_is_without_those_that_have_a_reason_beside_it(kind: str) -> None:
    column = column_of("c", kind, optional=False)
    for schema, values in EDGES.items():
        found, reasons = _written(column, schema, values)
        taken = pa.array([row not in reasons for row in range(len(values))], pa.bool_())
        assert _written(column, schema, values.filter(taken)) == (found, {})


def _written(column: Column, schema: Schema, values: pa.Array) -> tuple[list[bytes], dict[int, str]]:
    """The lines of those that have no reason, and the reasons."""
    records = struct([("c", schema)])
    rows, reasons = fitted(TABLES, [column], Rows(pa.StructArray.from_arrays([values], ["c"]), records), met([column], records))
    return lines(rows.filter(pa.array([row not in reasons for row in range(len(values))], pa.bool_())), {}), reasons

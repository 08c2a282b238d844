"""Changes as columns."""

import subprocess
import sys
from dataclasses import replace

from rocketconnect_sdk.changes import arrays
from rocketconnect_sdk.schema import Schema, Type, struct

_FIRST_CHANGE = """
import sys
from rocketconnect_sdk.changes import ChangeForm, Operation, Origin, TableChanges, arrays
from rocketconnect_sdk.schema import STRING, struct
arrays.prepare()
loaded = set(sys.modules)
origin, columns = Origin("a", "b", "c", "", "d"), struct([("e", STRING)])
changes = TableChanges(ChangeForm(), origin, columns, ["e"], struct([]), partition="f", topic="g")
changes.add(Operation.CREATE, None, ("h",), offset=(1,), ts_ms=1)
changes.take()
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - loaded}))
"""


def test_a_source_that_is_prepared_loads_nothing_large_with_its_first_change() -> None:
    found = subprocess.run([sys.executable, "-c", _FIRST_CHANGE], capture_output=True, text=True, check=True)
    assert {"numpy", "pandas", "pyarrow"}.isdisjoint(found.stdout.split())


def test_rows_beside_missing_ones_may_have_columns_with_parts() -> None:
    span = struct([("days", Schema(Type.INT32))])
    columns = struct([("id", Schema(Type.INT64)), ("span", replace(span, optional=True)), ("whole", span)])
    rows = [None, (1, {"days": 3}, {"days": 4}), (2, None, {"days": 5})]
    found = arrays.rows(replace(columns, optional=True), rows).array.to_pylist()
    assert found == [None, {"id": 1, "span": {"days": 3}, "whole": {"days": 4}}, {"id": 2, "span": None, "whole": {"days": 5}}]

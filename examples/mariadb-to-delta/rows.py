"""Shows the rows of the table of Delta Lake at a path."""

import sys

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

rows = QueryBuilder().register("rows", DeltaTable(sys.argv[1])).execute("SELECT * FROM rows ORDER BY id").read_all()
for row in pa.table(rows).to_pylist():
    sys.stdout.write(" ".join(map(str, row.values())) + "\n")

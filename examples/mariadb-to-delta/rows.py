"""Shows the rows of the table of Delta Lake at a path."""

import sys

from deltalake import DeltaTable

for row in sorted(DeltaTable(sys.argv[1]).to_pyarrow_table().to_pylist(), key=lambda row: row["id"]):
    sys.stdout.write(" ".join(map(str, row.values())) + "\n")

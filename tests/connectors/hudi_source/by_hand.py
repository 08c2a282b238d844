"""Tables of Hudi that are made by hand, without Java."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = json.dumps({"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}]})


class ByHand:
    """A table with a column of ids. Instants are small numbers.

    Args:
        root: The directory of the table.
        version: Of its form.
    """

    def __init__(self, root: Path, version: str = "6") -> None:
        self.root = root
        self.hidden = root / ".hoodie"
        (self.hidden / "timeline").mkdir(parents=True)
        (root / ".hoodie_partition_metadata").touch()
        said = {"version": version, "type": "COPY_ON_WRITE", "name": "by hand", "create.schema": SCHEMA.replace(":", "\\:")}
        lines = [f"hoodie.table.{key}={value}" for key, value in said.items()]
        (self.hidden / "hoodie.properties").write_text("#Updated at 2026\n" + "\n".join(lines))

    def write(self, instant: int, *ids: int, group: str = "", times: list[int] | None = None, **stat: Any) -> Path:
        """A commit with one new file.

        Args:
            instant: Of the commit.
            ids: The rows of the file.
            group: Of the file.
            times: The commits that have made its rows.
            stat: What the commit says of it.
        """
        name = f"{group or f'g{instant}'}_0-1-2_{instant}.parquet"
        made = list(map(str, times or [instant] * len(ids)))
        columns = {"_hoodie_commit_time": made, "_hoodie_record_key": list(map(str, ids)), "id": list(ids)}
        pq.write_table(pa.table(columns), self.root / name)
        told = {"fileId": name.split("_", maxsplit=1)[0], "path": name, "prevCommit": "null", "numWrites": len(ids), **stat}
        self.say(instant, {"partitionToWriteStats": {"": [told]}, "extraMetadata": {"schema": SCHEMA}, "operationType": "INSERT"})
        return self.root / name

    def say(self, instant: int, metadata: object, action: str = "commit") -> None:
        """What an instant says in the timeline."""
        (self.hidden / f"{instant}.{action}").write_text(json.dumps(metadata))

"""What a batch does to a table, as a MERGE of Delta."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from connectors.lakes.staging import free, of, quoted
from rocketconnect_sdk.targets.merging import Merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def merger(table: Any, rows: "DataFrame", changes: Merge, key: Sequence[str]) -> Any:
    """The MERGE, which is not run yet.

    Args:
        table: A DeltaTable of Java's.
        rows: Of lakes.staging.staged().
        changes: What becomes of the table.
        key: The columns of the key.
    """
    names = changes.rows.column_names
    gone = of("s", free(names, "gone"))
    same = " AND ".join(f"{of('t', name)} = {of('s', name)}" for name in key)
    # "as" is a word of Python.
    made = getattr(table, "as")("t").merge(getattr(rows._jdf, "as")("s"), same)  # noqa: SLF001  # the way to Java
    if any(changes.gone):
        made = made.whenMatched(gone).delete()
    if others := {quoted(name): of("s", name) for name in names if name not in key}:
        made = made.whenMatched().updateExpr(others)
    made = made.whenNotMatched(f"NOT {gone}").insertExpr({quoted(name): of("s", name) for name in names})
    return made.whenNotMatchedBySource().delete() if changes.truncates else made

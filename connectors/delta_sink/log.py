"""The columns of a Delta table, read from its log without Spark."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.lakes.spark_schema import from_spark_json
from rocketconnect_sdk.schema import Schema

_LOG = "_delta_log"
_COMMIT = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(\..+)?\.parquet")
_COMMITS = 2_000
"""So many commits are looked at, the newest."""


def table_columns(root: Path) -> Schema | None:
    """The columns of the newest state; None: there is no table, or it is not known what they are.

    Args:
        root: The directory of the table.
    """
    try:
        names = [entry.name for entry in os.scandir(root / _LOG) if entry.is_file()]
        text = next(_schemas(root / _LOG, names), None)
        return None if text is None else from_spark_json(text)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        # Whoever only looks refuses nothing for a table that others have made in a way of their own.
        return None


def _schemas(log: Path, names: Sequence[str]) -> Iterator[str]:
    """The schemas that the log names, the newest first."""
    for name in sorted(filter(_COMMIT.fullmatch, names), reverse=True)[:_COMMITS]:
        yield from reversed(list(_named(log / name)))
    # Commits are removed that a checkpoint has.
    checkpoints = {found: name for name in names if (found := _CHECKPOINT.fullmatch(name))}
    for found in sorted(checkpoints, key=lambda found: found[1], reverse=True):
        yield from _kept(log / checkpoints[found])


def _named(commit: Path) -> Iterator[str]:
    with commit.open(encoding="utf-8") as lines:
        for line in lines:
            # Most lines are of files, and may be long.
            if '"metaData"' in line and (action := json.loads(line).get("metaData")):
                yield action["schemaString"]


def _kept(checkpoint: Path) -> Iterator[str]:
    from pyarrow import parquet

    with parquet.ParquetFile(checkpoint) as file:
        if "metaData" not in file.schema_arrow.names:
            return
        for batch in file.iter_batches(columns=["metaData.schemaString"]):
            found: list[dict[str, Any] | None] = batch.column(0).to_pylist()
            yield from (each["schemaString"] for each in found if each is not None and each["schemaString"] is not None)

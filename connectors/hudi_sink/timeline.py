"""The columns of a table of Hudi, read from its timeline without Spark."""

import re
from collections.abc import Mapping
from pathlib import Path

from connectors.hudi.container import record_of
from connectors.hudi_sink.columns import COLUMNS, columns_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema

HIDDEN = ".hoodie"
_PROPERTIES = "hoodie.properties"
_COMMIT = re.compile(r"(\d+)_\d+\.(commit|replacecommit)")


def is_table(root: Path) -> bool:
    """Whether a directory holds a table of Hudi."""
    return (root / HIDDEN / _PROPERTIES).is_file()


def table_columns(root: Path) -> Schema | None:
    """The columns of the newest state; None: there is no table, or it is not known what they are.

    Args:
        root: The directory of the table.
    """
    timeline = root / HIDDEN / "timeline"
    try:
        names = sorted((path.name for path in timeline.iterdir() if _COMMIT.fullmatch(path.name)), reverse=True)
        for name in names:
            kept = _kept((timeline / name).read_bytes())
            if kept.get("schema"):
                return columns_of(kept["schema"], kept.get(COLUMNS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecordError):
        # Whoever only looks refuses nothing for a table that others have made in a way of their own.
        pass
    return None


def _kept(data: bytes) -> Mapping[str, str]:
    """What the metadata of a commit keep besides its files."""
    return dict(record_of(data)["extraMetadata"] or {})

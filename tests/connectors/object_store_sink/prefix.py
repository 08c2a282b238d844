"""What readers see of a prefix who know nothing of the sink."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads

from tests.servers.objects.s3 import S3


def row(queue: int, offset: int) -> dict[str, object]:
    return {"queue": queue, "offset": offset, "text": None if offset % 7 == 0 else f'"ü", {offset}\n'}


def table_of(server: S3, place: str, form: str = "parquet") -> list[dict[str, Any]]:
    """The rows of all objects below BUCKET/PREFIX, in the order of their names."""
    found: list[dict[str, Any]] = pads.dataset(place, filesystem=server.files(), format=form).to_table().to_pylist()
    return found


def lines_of(objects: Callable[[], dict[str, bytes]]) -> list[Any]:
    """The lines of all objects whose names do not begin with an underscore, in the order of their names."""
    names = objects()
    seen = [name for name in sorted(names) if not any(part.startswith("_") for part in name.split("/"))]
    return [json.loads(line) for name in seen for line in names[name].splitlines()]


def files_in(folder: Path) -> dict[str, bytes]:
    """By path what is in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

"""A Spark session with Hudi, and the table as another program reads it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa
from hudi import HudiTableBuilder

from connectors.hudi_sink.needs import HUDI
from rocketconnect_kit.java.jars import jars_of, listed


@cache
def settings() -> Mapping[str, str]:
    """What a session needs; the jars are those that the executor fetches."""
    folder = jars_of(listed(HUDI.title, Path(HUDI.jars)))
    return {"spark.jars": ",".join(sorted(map(str, folder.glob("*.jar"))))}


def read(path: Path) -> list[dict[str, object]]:
    """The rows, without Hudi's own columns."""
    batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
    rows = [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
    return [{name: value for name, value in row.items() if not name.startswith("_hoodie_")} for row in rows]

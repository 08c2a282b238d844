"""The demo of lakes: what it asks of both tables."""

import pyarrow as pa
from rich.console import Console

from demo.lake import answer

COLUMNS = ("carrier", "flight", "dep_delay", "arr_delay")
ROWS = [("AA", 1, 10, 90), ("AA", 2, 20, 5), ("UA", 3, 1, 0), ("UA", 4, None, None)]


def test_one_question_is_asked_of_both_tables() -> None:
    """Of each carrier the flights that left, their mean delay, and how many came more than an hour late."""
    columns: dict[str, list[object]] = {name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)}
    for name in ("year", "month", "day", "sched_dep_time"):
        columns[name] = [1] * len(ROWS)
    columns["origin"] = ["EWR"] * len(ROWS)
    table = pa.table(columns)
    console = Console(width=100)
    with console.capture() as capture:
        console.print(answer(table, table))
    rows = [line.split() for line in capture.get().splitlines() if line.startswith("│")]
    assert [[cell for cell in row if cell != "│"] for row in rows] == [["AA", "2", "15.0", "50.0"], ["UA", "1", "1.0", "0.0"]]

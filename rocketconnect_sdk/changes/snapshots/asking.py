"""Snapshots that are asked for: of which tables, and of which keys."""

import hashlib
from collections.abc import Callable, Sequence

from rocketconnect_sdk.changes.snapshots.chunked import TableLike
from rocketconnect_sdk.changes.snapshots.incremental import Requests, keys_of
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.wording.counts import counted


def key_length_problem(table: TableLike, wanted: str) -> str | None:
    """What is wrong with keys that are asked for; None: nothing, or there are none."""
    for key in keys_of(wanted):
        if len(key) != len(table.key):
            return f"the key of {table.name} is {', '.join(table.key)}, and {list(key)} has {counted(key, 'value')}"
    return None


def number_of(key: object) -> int:
    """Stands for the key of a table: what its columns and their types are, whose repr tells them."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big")


def key_problem(table: TableLike) -> str | None:
    """Why a table can't be read in chunks in any database; None: it can."""
    if table.key:
        return None
    return (
        f"{table.name} has no primary key, or a column of it is left out, so that it can't be read in chunks: give it one, or "
        "let a connector of its own read it with snapshot.mode=initial"
    )


def ask_all(requests: Requests, names: Sequence[str], condition: str, problem: Callable[[str], str | None]) -> list[SourceBatch]:
    """Snapshots of tables are to be taken: of all, or of none of them.

    Args:
        requests: What is asked for.
        names: Of the tables.
        condition: Which of their rows; empty: all.
        problem: What is wrong with one of them; it also looks at the condition.

    Raises:
        ValueError: what is wrong with which of them; and what `problem` raises.
    """
    problems = []
    for text in names:
        if text in requests.open:
            problems.append(f"a snapshot of {text} is asked for already: wait until it is done, or stop it (stop-snapshot)")
        elif found := problem(text):
            problems.append(found)
    if problems:
        raise ValueError("; ".join(problems))
    return [batch for text in dict.fromkeys(names) for batch in requests.ask(text, condition)]

"""Rows that differ are sent again by their source, through the topic: in order with the changes that it captures."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rocketconnect_cli.api import Api, ApiError, connector_path
from rocketconnect_sdk.changes.snapshots.incremental import LONGEST_CONDITION

_BUSY = "is asked for already"
_OR = " OR "


class SnapshotRequest(NamedTuple):
    """Rows of a table that are to be sent again: arguments of the signal execute-snapshot.

    Attributes:
        table: The table.
        condition: Which rows, in SQL; empty: keys say it.
        keys: Their keys in JSON.
    """

    table: str
    condition: str = ""
    keys: str = ""


def conditions(rows: Iterable[Mapping[str, Any]]) -> tuple[list[SnapshotRequest], list[Mapping[str, Any]]]:
    """Conditions that take all rows, as few as there can be; and the rows that can't be sent again.

    Args:
        rows: Differences, of which each is in the place of one key.
    """
    made: list[SnapshotRequest] = []
    left: list[Mapping[str, Any]] = []
    for row in rows:
        table, condition = row.get("table", ""), f"({row.get('condition', '')})"
        if condition == "()" or len(condition.encode()) > LONGEST_CONDITION:
            left.append(row)
            continue
        joined = f"{made[-1].condition}{_OR}{condition}" if made and made[-1].table == table else ""
        if joined and len(joined.encode()) <= LONGEST_CONDITION:
            made[-1] = SnapshotRequest(table, joined)
        else:
            made.append(SnapshotRequest(table, condition))
    return made, left


def deletions(rows: Iterable[Mapping[str, Any]]) -> tuple[list[SnapshotRequest], list[Mapping[str, Any]]]:
    """The same for rows that only the sink has: the source says of their keys that they are deleted."""
    made: list[SnapshotRequest] = []
    left: list[Mapping[str, Any]] = []
    for row in rows:
        table, keys = row.get("table", ""), f"[{row.get('key', '')}]"
        if not row.get("condition") or len(keys.encode()) > LONGEST_CONDITION:
            left.append(row)
            continue
        joined = f"{made[-1].keys[:-1]}, {keys[1:]}" if made and made[-1].table == table else ""
        if joined and len(joined.encode()) <= LONGEST_CONDITION:
            made[-1] = SnapshotRequest(table, keys=joined)
        else:
            made.append(SnapshotRequest(table, keys=keys))
    return made, left


def send_again(client: Api, name: str, wanted: Sequence[SnapshotRequest], wait: float, tell: Callable[[str], object]) -> None:
    """Tells the source to send rows again, and returns when it has taken the last of it.

    Args:
        client: Of the API.
        name: The source.
        wanted: The rows.
        wait: A table is read for one condition at a time; so many seconds for the one before.
        tell: Says how far it is.

    Raises:
        ApiError: the source is not running, or refuses.
    """
    for number, each in enumerate(wanted, 1):
        which = {"keys": each.keys} if each.keys else {"condition": each.condition}
        body = {"signal": "execute-snapshot", "arguments": {"tables": each.table, **which}}
        deadline = time.monotonic() + wait
        while True:
            try:
                client.request("POST", f"{connector_path(name)}:signal", body=body, like={"answers": [{}]})
            except ApiError as error:
                if _BUSY not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                break
        tell(f"{each.table}: sending rows again, {number} of {len(wanted)}")

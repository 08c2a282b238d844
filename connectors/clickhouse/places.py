"""The columns that say which record a row is, and the engines of tables that keep them. Pure."""

import hashlib
from collections.abc import Sequence

from rocketconnect_sdk.sink import QueuePosition

QUEUE, OFFSET, ROW = PLACE = ("_rc_queue", "_rc_offset", "_rc_row")
"""The queue, as `queue_text` writes it, the offset, and the row of a packed message."""
DEFINITIONS = ("`_rc_queue` String", "`_rc_offset` UInt64", "`_rc_row` UInt32")
INDEX = "INDEX `_rc_offset` `_rc_offset` TYPE minmax GRANULARITY 1"
"""With it a start reads no part of a large table but the newest."""
STRUCTURE = (("q", "UInt64"), ("o", "UInt64"), ("r", "UInt32"))
"""Their names and types on the way, see `queue_number`."""
EXACT_ENGINES = ("MergeTree", "ReplicatedMergeTree", "SharedMergeTree")
"""Those that keep each row as it is: what replaces or adds up rows forgets which records are there."""
ENGINE_FIX = "Set delivery=at_least_once; a ReplacingMergeTree keeps the newest record of each key then, as records come in order"


def engine_problem(engine: str) -> str:
    """Why an engine does not do for delivery=exactly_once; empty: it does."""
    if engine in EXACT_ENGINES:
        return ""
    return f"has the engine {engine}, and delivery=exactly_once needs one of {', '.join(EXACT_ENGINES)}"


def places_problem(table: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Why a table does not say which records are in it, and what to do about it.

    Args:
        table: As it stands in a statement.
        names: Those of PLACE that it has.
    """
    if not (missing := [each for each in PLACE if each not in names]):
        return None
    made = ", ".join(f"ADD COLUMN {each}" for each in DEFINITIONS if any(f"`{name}`" in each for name in missing))
    fix = f"Run ALTER TABLE {table} {made}; or set delivery=at_least_once"
    return f"lacks the columns {', '.join(missing)}, which delivery=exactly_once needs", fix


def queue_number(queue: str) -> int:
    """Stands for a queue while rows are on their way: names are long."""
    return int.from_bytes(hashlib.sha256(queue.encode()).digest()[:8], "little")


def queue_text(queue: str, position: QueuePosition, connector_uid: str) -> str:
    """A queue as rows have it. After a reset, in a queue that was made anew and of another connector records are others."""
    return f"{queue} {connector_uid} {position.incarnation}.{position.era}"

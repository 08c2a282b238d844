"""The requests and answers of the bulk API. Pure.

https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.writes import Op, Operation

METHODS = ("index", "create", "upsert")
_LONGEST_ID = 512
_SHORT_ID = _LONGEST_ID // 4
"""No character has more than four bytes."""
_LONGEST_NAME = 255
_NEVER = ' "*\\<|,>/?#:'
_CONFLICTS = 3
"""So often the server tries an update again that somebody else was faster than."""
_LATER = frozenset(
    {
        "circuit_breaking_exception",
        "cluster_block_exception",
        "es_rejected_execution_exception",
        "index_closed_exception",
        "process_cluster_event_timeout_exception",
        "rejected_execution_exception",
        "unavailable_shards_exception",
    }
)
"""What is no matter of the document, and may pass."""
_SHOWN = 500


@lru_cache(maxsize=1_000)
def index_problem(name: str) -> str | None:
    """What is wrong with the name of an index; None: nothing."""
    if wrong := sorted({each for each in name if each in _NEVER}):
        return f"has {' '.join(map(repr, wrong))}, which no name of an index has"
    if name.startswith(("-", "_", "+")) or name in (".", ".."):
        return "begins with -, _ or +, or is . or .., as no name of an index does"
    return "has more than 255 bytes" if len(name.encode()) > _LONGEST_NAME else None


def index_of(operation: Operation) -> str:
    """The index of an operation: names have no upper-case letters there."""
    return operation.target.lower()


def lines_of(operation: Operation, method: str, *, may_hide: bool) -> bytes:
    """What is sent for an operation.

    Args:
        operation: What is done.
        method: One of METHODS.
        may_hide: An index may begin with a point, as those of the system do.

    Raises:
        RecordError: it can't be sent so.
    """
    index, key = _index(operation.target, may_hide), operation.key
    if len(key) > _SHORT_ID and len(key.encode()) > _LONGEST_ID:
        msg = f"its id has {len(key.encode())} bytes, and at most {_LONGEST_ID} are allowed: {key[:40]}..."
        raise RecordError(msg)
    where = b'{"_index":%b,"_id":%b}' % (index, to_json(key)) if key else b'{"_index":%b}' % index
    if operation.op is Op.DELETE:
        return b'{"delete":%b}\n' % where
    document = to_json(operation.value)
    if method == "upsert":
        return b'{"update":%b,"retry_on_conflict":%d}}\n{"doc":%b,"doc_as_upsert":true}\n' % (where[:-1], _CONFLICTS, document)
    return b'{"%b":%b}\n%b\n' % (method.encode(), where, document)


@lru_cache(maxsize=1_000)
def _index(target: str, may_hide: bool) -> bytes:
    """The index that a target means, as JSON. Raises RecordError: it is none."""
    name = target.lower()
    if (problem := index_problem(name)) is not None:
        msg = f"the index {name[:_LONGEST_NAME]!r} {problem}"
        raise RecordError(msg)
    if name.startswith(".") and not may_hide:
        msg = f"the index {name!r} begins with a point, as those of the system do, and that comes from the record"
        raise RecordError(msg)
    return to_json(name)


@dataclass(frozen=True, slots=True)
class Items:
    """What has become of the operations of a request, by their places in it.

    Attributes:
        refused: What is wrong with those that the server refuses.
        again: Why it could not do others now.
        odd: Those of them with which it may have failed for good: it says no more than that it has failed.
        denied: Why it does not allow one; empty: it allows all.
    """

    refused: dict[int, str] = field(default_factory=dict)
    again: dict[int, str] = field(default_factory=dict)
    odd: set[int] = field(default_factory=set)
    denied: str = ""


def read_items(body: Any, operations: Sequence[Operation], method: str) -> Items | None:
    """What an answer says; None: it is no answer of the bulk API."""
    found = body.get("items") if isinstance(body, Mapping) else None
    if not isinstance(found, list) or len(found) != len(operations):
        return None
    items = Items()
    if body.get("errors") is False:
        return items
    for place, (item, operation) in enumerate(zip(found, operations, strict=True)):
        result = next(iter(item.values()), None) if isinstance(item, Mapping) else None
        if not isinstance(result, Mapping) or not isinstance(result.get("status"), int):
            return None
        status, error = result["status"], result.get("error")
        kind = error.get("type") if isinstance(error, Mapping) else None
        if status < 300 or _is_done(operation, status, method):
            continue
        said = _reason(error) or f"status {status}"
        if status in (409, 429) or status >= 500 or kind in _LATER:
            items.again[place] = said
            if status == 500 and kind not in _LATER:
                items.odd.add(place)
        elif status in (401, 403):
            return Items(denied=said)
        else:
            items.refused[place] = f"the server refuses it: {said}"
    return items


def _is_done(operation: Operation, status: int, method: str) -> bool:
    """What is not there is deleted, and what `create` finds there was written before."""
    return status == 404 if operation.op is Op.DELETE else status == 409 and method == "create"


def _reason(error: Any) -> str:
    """The reason of a server with its cause, as it says them."""
    if not isinstance(error, Mapping):
        return str(error or "")[:_SHOWN]
    parts: list[str] = []
    while isinstance(error, Mapping):
        part = f"{error.get('type')}: {error.get('reason')}"
        parts += [part] if part not in parts else []
        error = error.get("caused_by")
    return " ".join("; caused by ".join(parts).split())[:_SHOWN]


def settings_problem(text: str) -> str | None:
    """What is wrong with the settings of an index as JSON; None: nothing."""
    try:
        return None if not text or isinstance(json.loads(text), dict) else "is no JSON object"
    except (ValueError, RecursionError):
        return "is no JSON"

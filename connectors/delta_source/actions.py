"""What a commit of a table of Delta Lake says, and what a checkpoint does. Pure.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

_ROWS = re.compile(r'"numRecords"\s*:\s*(\d+)')
_IN_COMMIT = "inCommitTimestamp"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a table is.

    Attributes:
        table: Its id.
        schema: The types of its columns, as Delta writes them: JSON.
        partitioned_by: The columns by which it is partitioned.
        settings: Its properties.
    """

    table: str
    schema: str
    partitioned_by: tuple[str, ...]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a reader has to know.

    Attributes:
        version: Of readers.
        features: That readers have to know, with version 3.
    """

    version: int
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A file that a commit adds or removes.

    Attributes:
        path: Relative to the table, or absolute; decoded.
        size: In bytes; 0: not said.
        partition: The values of the columns by which the table is partitioned, as text.
        rows: How many it has; None: not said.
        brings_data: False: its rows were in the table before, or are there afterwards, in other files.
        vector: Some of its rows are deleted: a name of which; empty: none are.
        time_ms: When it was made; 0: not said.
    """

    path: str
    size: int
    partition: Mapping[str, str | None]
    rows: int | None
    brings_data: bool
    vector: str
    time_ms: int


@dataclass(slots=True)
class Actions:
    """What a commit says, in its order.

    Attributes:
        metadata: What the table is from now on; None: what it was.
        protocol: What readers have to know from now on; None: what it was.
        adds: Files that are in the table from now on.
        removes: Files that are not.
        changes: Files with the changes of rows.
        operation: What was done: WRITE, DELETE; empty: not said.
        time_ms: When; None: not said.
        in_commit: The time is the one that is in the commit for good.
    """

    metadata: Metadata | None = None
    protocol: Protocol | None = None
    adds: list[File] = field(default_factory=list)
    removes: list[File] = field(default_factory=list)
    changes: list[File] = field(default_factory=list)
    operation: str = ""
    time_ms: int | None = None


def read_commit(lines: Iterable[bytes]) -> Actions:
    """What a commit says.

    Raises:
        ValueError: it is no commit, or not a whole one.
    """
    found = Actions()
    try:
        for line in lines:
            if line.strip():
                _take(found, json.loads(line))
    except (KeyError, TypeError, AttributeError) as error:
        msg = f"an action is not what Delta Lake writes: {error!r}"
        raise ValueError(msg) from error
    return found


def _take(found: Actions, action: Mapping[str, Any]) -> None:
    if (add := action.get("add")) is not None:
        found.adds.append(file_of(add))
    elif (remove := action.get("remove")) is not None:
        found.removes.append(file_of(remove))
    elif (change := action.get("cdc")) is not None:
        found.changes.append(file_of(change))
    elif (metadata := action.get("metaData")) is not None:
        found.metadata = metadata_of(metadata)
    elif (protocol := action.get("protocol")) is not None:
        found.protocol = protocol_of(protocol)
    elif (info := action.get("commitInfo")) is not None:
        found.operation = str(info.get("operation") or "")
        time = info.get(_IN_COMMIT, info.get("timestamp"))
        found.time_ms = None if time is None else int(time)


def file_of(action: Mapping[str, Any]) -> File:
    """The file of an action."""
    stats = _ROWS.search(action.get("stats") or "")
    vector = action.get("deletionVector")
    return File(
        decoded(action["path"]),
        int(action.get("size") or 0),
        dict(action.get("partitionValues") or {}),
        None if stats is None else int(stats[1]),
        bool(action.get("dataChange", True)),
        "" if vector is None else f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}",
        int(action.get("modificationTime") or 0),
    )


def metadata_of(action: Mapping[str, Any]) -> Metadata:
    """What the table is."""
    settings = dict(action.get("configuration") or {})
    return Metadata(action["id"], action["schemaString"], tuple(action.get("partitionColumns") or ()), settings)


def protocol_of(action: Mapping[str, Any]) -> Protocol:
    """What readers have to know."""
    return Protocol(int(action["minReaderVersion"]), tuple(action.get("readerFeatures") or ()))


def decoded(path: str) -> str:
    """A path of an action: an address is percent-encoded, and one of this machine becomes a plain path."""
    address = urlsplit(path)
    if address.scheme == "file":
        return unquote(address.path)
    return path if address.scheme and "://" in path else unquote(path)

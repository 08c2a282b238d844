"""The files of a worker of RocketMQ Connect: its connectors, and where their sources are. They are only read.

Below `storePathRootDir` there is a folder `config`. Each file is a JSON object of keys and values in base64, each of which is JSON
or a name. A worker that was killed while it wrote one has the one before as `.bak`, and reads that, too.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rocketconnect_cli.api import ApiError, Exit

CONNECTORS, POSITIONS = "connectorConfig.json", "position.json"
_PAUSED = "PAUSED"

K = TypeVar("K")

Place = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A partition and an offset in it, as a connector of theirs gives them."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A connector as RocketMQ Connect has it.

    Attributes:
        name: Its name.
        config: All of it, secrets too.
        is_paused: It is to stay paused.
        places: Where its source is.
    """

    name: str
    config: Mapping[str, str]
    is_paused: bool = False
    places: Sequence[Place] = ()


def read(folder: Path, listed: Path | None) -> list[Stored]:
    """All connectors, by name.

    Args:
        folder: The worker's storePathRootDir, or the folder `config` in it.
        listed: What `GET /allocated/connectors` of the worker answered; None: the worker has stored its connectors.

    Raises:
        ApiError: WRONG, when a file is not there, or is none of theirs.
    """
    where = folder / "config" if (folder / "config").is_dir() else folder
    if not where.is_dir():
        raise _wrong(folder, "is no folder", "Name the worker's storePathRootDir.")
    places: dict[str, list[Place]] = {}
    for partition, offset in _entries(where / POSITIONS, _object):
        place = (_map(partition.get("partition"), where), _map(offset.get("offset"), where))
        places.setdefault(str(partition.get("namespace", "")), []).append(place)
    if listed is not None:
        found = {name: (config, False) for name, config in _listed(listed).items()}
    else:
        entries = _entries(where / CONNECTORS, str)
        found = {name: (_texts(value.get("properties")), value.get("targetState") == _PAUSED) for name, value in entries}
        if not found:
            fix = (
                "A standalone worker stores none. While it runs, keep its answer: "
                "curl http://WORKER:8082/allocated/connectors > connectors.json; then give --connectors connectors.json."
            )
            raise _wrong(where / CONNECTORS, "has no connectors", fix)
    return [Stored(name, config, is_paused, places.get(name, ())) for name, (config, is_paused) in sorted(found.items())]


def _entries(path: Path, key: Callable[[str], K]) -> list[tuple[K, dict[str, Any]]]:
    """What a file holds: its keys, as `key` reads them, with their objects. That before it, where it is damaged or not there."""
    error: Exception | None = None
    for each in (path, path.with_name(f"{path.name}.bak")):
        try:
            text = each.read_text()
            if text.strip():
                return [(key(_plain(name)), _object(_plain(value))) for name, value in json.loads(text).items()]
        except FileNotFoundError:
            continue
        except (ValueError, AttributeError, OSError, RecursionError) as failed:
            error = error or failed
    if error is not None:
        raise _wrong(path, f"is no file of RocketMQ Connect ({error})", "Look whether it was copied whole.")
    return []


def _map(value: Any, where: Path) -> dict[str, Any]:
    if not isinstance(value or {}, dict):
        raise _wrong(where / POSITIONS, "has a partition or an offset that is no object", "Look whether it was copied whole.")
    return value or {}


def _plain(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        msg = "it has something else than an object"
        raise ValueError(msg)  # noqa: TRY004  # as what is no JSON
    return value


def _listed(path: Path) -> dict[str, dict[str, str]]:
    """The connectors of an answer of the worker, or of its body alone."""
    try:
        value = json.loads(path.read_text())
    except (ValueError, OSError, RecursionError) as error:
        raise _wrong(path, f"can't be read ({error})", "Keep what GET /allocated/connectors answers.") from None
    body = value.get("body", value) if isinstance(value, dict) else None
    if not isinstance(body, dict) or not all(isinstance(config, dict) for config in body.values()):
        raise _wrong(path, "is no object of connectors", "Keep what GET /allocated/connectors answers.")
    return {name: _texts(config) for name, config in body.items()}


def _texts(config: Any) -> dict[str, str]:
    found = config if isinstance(config, dict) else {}
    return {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in found.items() if value is not None}


def _wrong(path: Path, reason: str, fix: str) -> ApiError:
    return ApiError(Exit.WRONG, {"detail": f"{path} {reason}. {fix} Nothing was changed."})

"""A worker of Kafka Connect, as its REST API tells of it. It is only read."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import httpx

from rocketconnect_cli.api import ApiError, Exit

TIMEOUT_SECONDS = 60.0
OFFSETS_SINCE = (3, 6)
MOST_BYTES = 64 << 20
"""Of all that a worker answers together: what the import holds of it. One with thousands of connectors tells some MiB."""
_VERSION = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class There:
    """A connector as it is in Kafka Connect.

    Attributes:
        name: Its name.
        type: source, sink, or unknown.
        config: All of it, secrets too.
        state: RUNNING, PAUSED, STOPPED, FAILED and so on.
        class_name: The whole name of its class, where its configuration has an alias.
        version: Of its plugin; "": not told.
        offsets: As `GET /connectors/NAME/offsets` tells them; None: this version tells none, or they were not asked for.
    """

    name: str
    type: str
    config: Mapping[str, str]
    state: str
    class_name: str
    version: str
    offsets: Sequence[Mapping[str, Any]] | None


class Worker:
    """Speaks to one worker.

    Args:
        url: Where its REST API is; a user and a password in it are shown to the worker, and to nobody else.

    Raises:
        ApiError: the URL is none.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = httpx.URL(url.rstrip("/"))
            wrong = "" if parsed.scheme in ("http", "https") and parsed.host else "it begins with neither http:// nor https://"
        except (httpx.InvalidURL, UnicodeError) as error:
            # It may quote a part of a password.
            wrong = "it can't be read" if "@" in url else str(error)
        if wrong:
            detail = f"that is not the URL of a Kafka Connect worker ({wrong}). Give one such as http://HOST:8083."
            raise ApiError(Exit.WRONG, {"detail": detail})
        self.url = str(parsed.copy_with(username=None, password=None))
        # Unpacked, so that few bytes don't become many.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._client = httpx.Client(base_url=parsed, timeout=TIMEOUT_SECONDS, headers=headers)
        self._left = MOST_BYTES

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connections."""
        self._client.close()

    def version(self) -> str:
        """Of Kafka. Raises ApiError: no worker answers there."""
        return str(self._object("/", "version")["version"])

    def connectors(self, version: str, names: Collection[str] = (), *, offsets: bool = True) -> Iterator[There]:
        """All connectors, by name.

        Args:
            version: Of the worker.
            names: Only of these, offsets are asked for; empty: of all.
            offsets: Whether they are asked for at all.

        Raises:
            ApiError: it does not answer, or as nobody expects, or with more than an import holds.
        """
        listed = map(_map, self._list("/connector-plugins"))
        plugins = {str(each.get("class", "")): str(each.get("version") or "") for each in listed}
        found = self._object("/connectors?expand=info&expand=status")
        for name, each in sorted(found.items()):
            info, status = _map(_map(each).get("info")), _map(_map(each).get("status"))
            config = {key: _text(value) for key, value in _map(info.get("config")).items() if value is not None}
            class_name = whole_name(config.get("connector.class", ""), plugins)
            yield There(
                name,
                str(info.get("type") or status.get("type") or "unknown").lower(),
                config,
                str(_map(status.get("connector")).get("state") or "UNKNOWN"),
                class_name,
                plugins.get(class_name, ""),
                self._offsets(name) if offsets and tells_offsets(version) and name in (names or found) else None,
            )

    def _offsets(self, name: str) -> list[Mapping[str, Any]]:
        path = f"/connectors/{quote(name, safe='')}/offsets"
        found = self._object(path, "offsets")["offsets"]
        # One that can't be understood would be left out in silence.
        if not isinstance(found, list) or not all(map(_is_offset, found)):
            raise self._stranger(path)
        return found

    def _object(self, path: str, *keys: str) -> dict[str, Any]:
        found = self._asked(path)
        if not isinstance(found, dict) or any(key not in found for key in keys):
            raise self._stranger(path)
        return found

    def _list(self, path: str) -> list[Any]:
        found = self._asked(path)
        if not isinstance(found, list):
            raise self._stranger(path)
        return found

    def _asked(self, path: str) -> Any:
        try:
            with self._client.stream("GET", path) as answer:
                body = self._read(answer, path)
        except httpx.HTTPError as error:
            detail = f"no Kafka Connect worker answers at {self.url}: {error}. Give the URL of one that runs."
            raise ApiError(Exit.UNAVAILABLE, {"detail": detail}) from None
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise self._stranger(path) from None
        if not answer.is_success:
            said = found.get("message", "") if isinstance(found, dict) else ""
            detail = f"the worker at {self.url} refuses GET {path} with {answer.status_code}: {str(said)[:500]}"
            raise ApiError(Exit.FAILED, {"detail": f"{detail}. Try again when it has settled."})
        return found

    def _read(self, answer: httpx.Response, path: str) -> bytes:
        """Its body. Raises ApiError: with it the worker has told more than is held."""
        parts = []
        for part in answer.iter_raw():
            self._left -= len(part)
            if self._left < 0:
                detail = (
                    f"{self.url}{path} and what was asked before are more than {MOST_BYTES >> 20} MiB, "
                    "which an import does not hold. Nothing was changed. Give the URL of a worker's REST API; "
                    "if it is one, import its connectors by their names, or with --no-positions."
                )
                raise ApiError(Exit.FAILED, {"detail": detail})
            parts.append(part)
        return b"".join(parts)

    def _stranger(self, path: str) -> ApiError:
        detail = f"{self.url}{path} does not answer as Kafka Connect does. Give the URL of a worker's REST API."
        return ApiError(Exit.UNAVAILABLE, {"detail": detail})


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_offset(value: Any) -> bool:
    maps = (
        (value.get("partition") or {}, value.get("offset") or {}) if isinstance(value, dict) and "partition" in value else (None,)
    )
    return all(isinstance(each, dict) for each in maps)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def tells_offsets(version: str) -> bool:
    """Whether a worker of this version tells offsets."""
    found = _VERSION.match(version)
    # Vendors have numbers of their own; they are asked.
    return found is None or tuple(map(int, found.groups())) >= OFFSETS_SINCE


def whole_name(given: str, classes: Mapping[str, str]) -> str:
    """The class that Kafka Connect takes for a name, which may be written without its package and its ending; else the name."""
    found = [name for name in classes if given in _aliases(name)]
    return given if given in classes or len(found) != 1 else found[0]


def _aliases(name: str) -> tuple[str, ...]:
    short = name.rpartition(".")[2]
    return short, *(short.removesuffix(end) for end in ("SourceConnector", "SinkConnector", "Connector") if short != end)

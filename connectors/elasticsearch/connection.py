"""Writes operations to Elasticsearch or OpenSearch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import quote

from connectors.elasticsearch.bulk import index_of, index_problem, lines_of, read_items
from connectors.elasticsearch.client import ping
from connectors.elasticsearch.mapping import mapping_of
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.http import Answer, HttpClient, RequestRejected
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.writes import Connection, Op, Operation

_TRIES = 6
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_LEAST_BYTES = 64 << 10
_MOST_KNOWN = 10_000
_JSON = {"Content-Type": "application/json"}
_LINES = {"Content-Type": "application/x-ndjson"}
_ANSWER = "errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by"


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How operations are written.

    Attributes:
        method: One of bulk.METHODS.
        request_bytes: The size of a request, at most, unless one document is larger.
        pipeline: An ingest pipeline; empty: that of the index.
        may_hide: Indexes may begin with a point.
        settings: Of an index that is made.
    """

    method: str
    request_bytes: int
    pipeline: str = ""
    may_hide: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


class SearchConnection(Connection):
    """Writes by the bulk API. Requests become smaller where the server is busy or takes none so large, and grow again.

    Args:
        client: Of the servers.
        writing: How.
        stopping: Ends a wait for a busy server.
    """

    def __init__(self, client: HttpClient, writing: SinkSettings, stopping: Event) -> None:
        self._client = client
        self._writing = writing
        self._stopping = stopping
        self._bytes = writing.request_bytes
        self._next: list[bytes | str] = []
        """What `fits` has made of the operations of the next write; a text: why one can't be sent."""
        self._there: set[str] = set()

    def ping(self) -> None:
        """See Connection."""
        ping(self._client)

    def prepare(self, schemas: Mapping[str, Schema]) -> None:
        """See Connection: makes the indexes that are not there."""
        for target, schema in schemas.items():
            name = target.lower()
            if name in self._there or index_problem(name) or (name.startswith(".") and not self._writing.may_hide):
                continue
            if self._client.ask("HEAD", f"/{quote(name)}").status == 404:
                self._make(name, schema)
            if len(self._there) >= _MOST_KNOWN:
                self._there.clear()
            self._there.add(name)

    def _make(self, name: str, schema: Schema) -> None:
        body = {"mappings": mapping_of(schema), "settings": self._writing.settings}
        try:
            self._client.asked("PUT", f"/{quote(name)}", json.dumps(body).encode(), headers=_JSON)
        except RequestRejected as error:
            if "already exists" in error.said:
                return
            fix = "Correct index.settings, or set index.create=server"
            msg = f"the index {name} can't be made of the schema: {error}. {fix}"
            raise PermanentError(msg) from error

    def fits(self, operations: Sequence[Operation]) -> int:
        """See Connection."""
        self._next = []
        size = 0
        for operation in operations:
            lines = self._lines(operation)
            size += len(lines)
            if self._next and size > self._bytes:
                break
            self._next.append(lines)
        return len(self._next)

    def _lines(self, operation: Operation) -> bytes | str:
        try:
            return lines_of(operation, self._writing.method, may_hide=self._writing.may_hide)
        except RecordError as error:
            return str(error)

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        made, self._next = self._next or list(map(self._lines, operations)), []
        request = _Request(operations, {}, {})
        for place, lines in enumerate(made):
            if isinstance(lines, bytes):
                request.lines[place] = lines
            else:
                request.refused[place] = lines
        left = list(request.lines)
        for turn in range(_TRIES):
            self._send_all(request, left)
            if not request.again:
                return request.refused
            left = _with_later(request.again, left, operations)
            # The wait of the runtime is behind the last try.
            if turn + 1 < _TRIES and self._stopping.wait(request.wait or min(_LONGEST_WAIT, _FIRST_WAIT * 2**turn)):
                break
        if request.odd >= request.again.keys():
            return request.refused | {place: f"the server fails with it: {reason}" for place, reason in request.again.items()}
        place, reason = next(iter(request.again.items()))
        msg = f"{self._client.place} takes nothing into {index_of(operations[place])} for now: {reason}"
        raise SystemAway(msg, wait=request.wait)

    def _send_all(self, request: "_Request", places: Sequence[int]) -> None:
        request.again.clear()
        request.odd.clear()
        request.wait, request.busy = None, ""
        for some in self._parts(request, places):
            if request.busy:
                request.again |= dict.fromkeys(some, request.busy)
            else:
                self._send(request, some)

    def _parts(self, request: "_Request", places: Sequence[int]) -> Sequence[list[int]]:
        parts: list[list[int]] = []
        size = 0
        for place in places:
            size += len(request.lines[place])
            if not parts or size > self._bytes:
                parts.append([])
                size = len(request.lines[place])
            parts[-1].append(place)
        return parts

    def _send(self, request: "_Request", places: list[int]) -> None:
        body = b"".join(request.lines[place] for place in places)
        parameters = {"filter_path": _ANSWER, **({"pipeline": self._writing.pipeline} if self._writing.pipeline else {})}
        answer = bulk(self._client, body, parameters)
        if answer.is_good:
            self._read(request, places, answer)
            self._bytes = min(self._writing.request_bytes, self._bytes + self._bytes // 8)
            return
        if answer.is_busy:
            problem = self._client.problem(answer)
            request.wait = getattr(problem, "wait", None)
            request.busy = str(problem)
            request.again |= dict.fromkeys(places, request.busy)
            self._shrink(len(body))
        elif answer.status == 413 or (answer.status == 400 and _is_of_bulk(answer)):
            # One of them, or all together, is what the server does not take.
            if len(places) == 1:
                request.refused[places[0]] = f"the server refuses it: {_too_large(len(body), answer)}"
                return
            if answer.status == 413:
                self._shrink(len(body))
            middle = len(places) // 2
            self._send(request, places[:middle])
            self._send(request, places[middle:])
        else:
            raise self._client.problem(answer)

    def _read(self, request: "_Request", places: Sequence[int], answer: Answer) -> None:
        try:
            items = read_items(answer.json(), [request.operations[place] for place in places], self._writing.method)
        except ValueError:
            items = None
        if items is None:
            msg = f"{self._client.place} answers with what is no answer of the bulk API: {answer.said()}"
            raise SystemAway(msg)
        if items.denied:
            msg = f"{self._client.place} does not allow it: {items.denied}. Give the user the right to write the index"
            raise PermanentError(msg)
        request.refused |= {places[place]: reason for place, reason in items.refused.items()}
        request.again |= {places[place]: reason for place, reason in items.again.items()}
        request.odd |= {places[place] for place in items.odd}
        if items.again:
            self._shrink(self._bytes)

    def _shrink(self, size: int) -> None:
        self._bytes = max(_LEAST_BYTES, min(self._bytes, size) // 2)

    def close(self) -> None:
        """See Connection."""
        self._client.close()


def bulk(client: HttpClient, body: bytes, parameters: Mapping[str, str]) -> Answer:
    """One request of the bulk API. Every document goes through here. Raises as HttpClient.ask."""
    return client.ask("POST", "/_bulk", body, headers=_LINES, parameters=parameters)


@dataclass(slots=True)
class _Request:
    """Operations on their way.

    Attributes:
        operations: All of them.
        lines: By their places what is sent for them.
        refused: What is wrong with those that are not made.
        again: Why others are to be sent again.
        odd: See Items.
        wait: After how many seconds, where the server says so.
        busy: Why the server takes nothing; empty: it does.
    """

    operations: Sequence[Operation]
    lines: dict[int, bytes]
    refused: dict[int, str]
    again: dict[int, str] = field(default_factory=dict)
    odd: set[int] = field(default_factory=set)
    wait: float | None = None
    busy: str = ""


def _with_later(again: Mapping[int, str], sent: Sequence[int], operations: Sequence[Operation]) -> list[int]:
    """What is sent again: with it all later changes of the same documents, which would be undone otherwise."""
    changed: set[tuple[str, str]] = set()
    left: list[int] = []
    for place in sent:
        operation = operations[place]
        if place in again or (operation.op is not Op.APPEND and operation.place in changed):
            changed.add(operation.place)
            left.append(place)
    return left


def _is_of_bulk(answer: Answer) -> bool:
    try:
        return "error" in answer.json()
    except (ValueError, TypeError):
        return False


def _too_large(size: int, answer: Answer) -> str:
    if answer.status == 413:
        return f"a request of {size} bytes is too large (http.max_content_length)"
    return answer.said()

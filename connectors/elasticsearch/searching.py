"""Documents of an index page by page, as they are at a point in time.

https://www.elastic.co/docs/reference/elasticsearch/rest-apis/paginate-search-results#search-after
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from connectors.elasticsearch.client import NoSearch
from connectors.elasticsearch.rows import Documents, schema_of
from rocketconnect_sdk.cursors import AHEAD_SECONDS, Connection, Mark, Page, PageTooLarge, Session, SessionLost, Stream, StreamGone
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import Answer, AnswerTooLong, HttpClient
from rocketconnect_sdk.resume import JSON

_HEADERS = {"Content-Type": "application/json"}
_OVERLAP_SECONDS = 10.0
_NANOS_IN_MS = 1_000_000
_NOT_FOUND, _BAD = 404, 400
_NUMBERS = ("long", "integer", "short", "byte", "unsigned_long", "double", "float", "half_float", "scaled_float")
_TIMES = ("date", "date_nanos")
_TEXTS = ("keyword", "constant_keyword", "wildcard", "version")
_IN_SESSION, _BY_ID = "_shard_doc", "_id"
"""What tells documents of one mark apart: their places in a point in time, or where a server has none, their ids."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read.

    Attributes:
        field: That new documents are known by; empty: all are read.
        overlap: How far documents may come behind the newest one: seconds of a field of times, else a number; None: 10 s, else 0.
        query: That documents must match; empty: all do.
        fields: Of the documents; empty: all.
        typed: They are rows with the types of the mapping.
        keep_alive: Seconds for which a point in time lives without a page.
    """

    field: str
    overlap: float | None
    query: Mapping[str, Any]
    fields: Sequence[str]
    typed: bool
    keep_alive: float


class _Hit(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    sort: list[Any]
    source: msgspec.Raw = msgspec.field(name="_source", default=msgspec.Raw(b""))


class _Hits(msgspec.Struct):
    hits: list[_Hit]
    total: Any = None


class _Found(msgspec.Struct):
    hits: _Hits
    shards: dict[str, Any] = msgspec.field(name="_shards")
    pit_id: str = ""


class SearchPages(Connection):
    """Reads indexes.

    Args:
        client: Of the servers.
        reading: What is read.
    """

    stable = True

    def __init__(self, client: HttpClient, reading: Reading) -> None:
        self.client = client
        self.reading = reading
        self.tie = _IN_SESSION
        self._kinds: dict[str, str] = {}
        self._is_opensearch: bool | None = None

    def streams(self, names: Sequence[str]) -> list[Stream]:
        """The indexes that are open, by names, aliases and patterns. One that is made anew is another one.

        Raises:
            SystemAway: one that is named is not there, or nobody answers.
        """
        path = f"/{quote(','.join(names), safe='*,')}/_settings/index.uuid"
        parameters = {"flat_settings": "true", "expand_wildcards": "open"}
        answer = self.client.ask("GET", path, parameters=parameters)
        if answer.status == _NOT_FOUND:
            msg = f"{self.client.place}: {answer.said()}"
            raise SystemAway(msg)
        field = f"/{self.reading.field}" if self.reading.field else ""
        found = _object(self.client, self._good(answer), "no list of indexes")
        try:
            return [Stream(name, f"{each['settings']['index.uuid']}{field}") for name, each in found.items()]
        except (TypeError, KeyError):
            raise _rubbish(self.client, answer, "no list of indexes") from None

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        """See Connection."""
        kind = self.kind(stream) if self.reading.field else ""
        documents = Documents(self._schema(stream) if self.reading.typed else None)
        if isinstance(token, str):
            return PointInTime(self, stream, documents, kind, since, token, is_new=False)
        path, parameters = self._points(), {"keep_alive": self.lifetime}
        answer = self.client.ask("POST", f"/{quote(stream)}{path}", headers=_HEADERS, parameters=parameters)
        found = self._of_stream(answer)
        point = found.get("id") or found.get("pit_id")
        if not isinstance(point, str):
            raise _rubbish(self.client, answer, "no point in time")
        return PointInTime(self, stream, documents, kind, since, point, is_new=True)

    def drop(self, point: str) -> None:
        """Ends a point in time. One that can't be ended now ends by itself."""
        path = self._points()
        body = {"pit_id": [point]} if self._is_opensearch else {"id": point}
        with suppress(SystemAway):
            self.client.ask("DELETE", "/_pit" if path == "/_pit" else path, json.dumps(body).encode(), headers=_HEADERS)

    def earlier(self, stream: str, mark: Mark) -> Mark:
        """See Connection."""
        kind, overlap = self.kind(stream), self.reading.overlap
        if isinstance(mark, str) or not kind:
            return mark
        if kind not in _TIMES:
            less = mark - (overlap or 0)
            return int(less) if isinstance(mark, int) and float(overlap or 0).is_integer() else less
        least = mark - int((_OVERLAP_SECONDS if overlap is None else overlap) * (1_000 if kind == "date" else 1_000_000_000))
        # The query of nanoseconds is one of milliseconds.
        return least if kind == "date" else least // _NANOS_IN_MS * _NANOS_IN_MS

    def latest(self, stream: str) -> Mark | None:
        """See Connection."""
        kind = self.kind(stream)
        if kind not in _TIMES:
            return None
        milliseconds = int((time.time() + AHEAD_SECONDS) * 1_000)
        return milliseconds if kind == "date" else milliseconds * _NANOS_IN_MS

    @property
    def lifetime(self) -> str:
        """Of a point in time without a page."""
        return f"{max(1, int(self.reading.keep_alive))}s"

    def kind(self, index: str) -> str:
        """The type of the field; empty: the index has no such field yet.

        Raises:
            PermanentError: documents have no order by it.
            StreamGone: the index is not there.
        """
        field = self.reading.field
        if index not in self._kinds:
            answer = self.client.ask("GET", f"/{quote(index)}/_field_caps", parameters={"fields": field})
            kinds = self._of_stream(answer).get("fields", {}).get(field, {})
            if not kinds:
                return ""
            (kind, can), *more = kinds.items()
            if more or kind not in (*_NUMBERS, *_TIMES, *_TEXTS) or not can.get("aggregatable"):
                hint = f"Name {field}.keyword, if there is one" if kind == "text" else "Name one of dates, numbers or keywords"
                msg = f"incrementing.field={field}: the index {index} has it as {kind}, by which documents have no order. {hint}"
                raise PermanentError(msg)
            if kind in _TEXTS and self.reading.overlap:
                msg = f"overlap: the index {index} has {field} as {kind}, and nobody can say what is a little earlier. Set it to 0"
                raise PermanentError(msg)
            self._kinds[index] = kind
        return self._kinds[index]

    def close(self) -> None:
        """See Connection."""
        self.client.close()

    def _schema(self, index: str) -> Any:
        found = self._of_stream(self.client.ask("GET", f"/{quote(index)}/_mapping"))
        mapping: Mapping[str, Any] = next(iter(found.values()), {})
        return schema_of(mapping.get("mappings", {}).get("properties", {}), self.reading.fields)

    def _points(self) -> str:
        """Where points in time are, which the two have at other places."""
        if self._is_opensearch is None:
            # A server that lacks a part of itself answers with an error there.
            answer = self.client.ask("GET", "/")
            if answer.is_busy:
                raise self.client.problem(answer)
            with suppress(ValueError, AttributeError):
                self._is_opensearch = answer.json().get("version", {}).get("distribution") == "opensearch"
            self._is_opensearch = bool(self._is_opensearch)
        return "/_search/point_in_time" if self._is_opensearch else "/_pit"

    def _of_stream(self, answer: Answer) -> Mapping[str, Any]:
        if answer.status == _NOT_FOUND:
            raise StreamGone(answer.said())
        return _object(self.client, self._good(answer), "no answer of a search engine")

    def _good(self, answer: Answer) -> Answer:
        if not answer.is_good:
            raise self.client.problem(answer)
        return answer


class PointInTime(Session):
    """One round.

    Args:
        owner: The connection.
        index: The index.
        documents: Makes rows.
        kind: The type of the field; empty: there is none.
        since: From which mark on; None: all.
        point: The point in time.
        is_new: It was made now; else it may have ended.
    """

    def __init__(
        self,
        owner: SearchPages,
        index: str,
        documents: Documents,
        kind: str,
        since: Mark | None,
        point: str,
        *,
        is_new: bool,
    ) -> None:
        self.keep_alive_seconds = owner.reading.keep_alive
        self._owner = owner
        self._index = index
        self._documents = documents
        self._kind = kind
        self._point = point
        self._is_new = is_new
        self._left: int | None = None
        self._query = self._query_of(since)

    @property
    def token(self) -> JSON:
        """See Session."""
        return self._point

    def page(self, cursor: JSON, limit: int) -> Page:
        """See Session."""
        field = self._owner.reading.field
        if field and not self._kind:
            # Nothing was written there that has it.
            return Page([])
        found = self._search(cursor, limit)
        hits = found.hits.hits
        total = found.hits.total
        if cursor is None and isinstance(total, Mapping):
            self._left = total.get("value")
        if self._left is not None:
            self._left = max(0, self._left - len(hits))
        if hits and not hits[0].source:
            msg = f"the index {self._index} keeps no documents (_source), so there is nothing to read"
            raise PermanentError(msg)
        sources = [bytes(hit.source) for hit in hits]
        marks: list[Mark | None] | None = [hit.sort[0] for hit in hits] if field else None
        more = len(hits) == limit
        return Page(
            [self._documents.read(source) for source in sources],
            next=hits[-1].sort if more else None,
            more=more,
            marks=marks,
            keys=[hit.id for hit in hits],
            timestamps_ms=self._times(marks),
            schema=self._documents.schema,
            size=sum(map(len, sources)),
            left=self._left,
        )

    def keep_alive(self) -> None:
        """See Session."""
        self._asked({"size": 0, "track_total_hits": False, "pit": self._pit})

    def end(self) -> None:
        """See Session."""
        self._owner.drop(self._point)

    @property
    def _pit(self) -> Mapping[str, str]:
        return {"id": self._point, "keep_alive": self._owner.lifetime}

    def _times(self, marks: Sequence[Any] | None) -> Sequence[int] | None:
        if marks is None or self._kind not in _TIMES:
            return None
        return marks if self._kind == "date" else [mark // _NANOS_IN_MS for mark in marks]

    def _query_of(self, since: Mark | None) -> Mapping[str, Any]:
        reading = self._owner.reading
        wanted: list[Mapping[str, Any]] = [reading.query] if reading.query else []
        if reading.field:
            wanted.append({"exists": {"field": reading.field}})
        if since is not None and self._kind in _TIMES:
            in_ms = since if self._kind == "date" or not isinstance(since, int) else since // _NANOS_IN_MS
            wanted.append({"range": {reading.field: {"gte": in_ms, "format": "epoch_millis"}}})
        elif since is not None:
            wanted.append({"range": {reading.field: {"gte": since}}})
        return {"bool": {"filter": wanted}} if wanted else {"match_all": {}}

    def _search(self, cursor: JSON, limit: int) -> _Found:
        owner = self._owner
        order = [{owner.reading.field: "asc"}] if owner.reading.field else []
        body: dict[str, Any] = {
            "size": limit,
            "pit": self._pit,
            "query": self._query,
            "sort": [*order, {owner.tie: "asc"}],
            "track_total_hits": cursor is None,
            "_source": list(owner.reading.fields) or True,
        }
        if cursor is not None:
            body["search_after"] = cursor
        answer = self._asked(body)
        if answer.status == _BAD and owner.tie == _IN_SESSION and _IN_SESSION in answer.body.decode("utf-8", "replace"):
            # OpenSearch before 3.3.
            owner.tie = _BY_ID
            return self._search(cursor, limit)
        if answer.status == _BAD and b"max_result_window" in answer.body:
            msg = f"{limit} documents are more than index.max_result_window allows"
            raise PageTooLarge(msg)
        if not answer.is_good:
            raise owner.client.problem(answer)
        try:
            found = msgspec.json.decode(answer.body, type=_Found)
        except msgspec.MsgspecError:
            raise _rubbish(owner.client, answer, "no answer of the search API") from None
        if found.shards.get("failed"):
            msg = f"{owner.client.place}: some shards of {self._index} do not answer"
            raise SystemAway(msg)
        self._point = found.pit_id or self._point
        self._is_new = True
        return found

    def _asked(self, body: Mapping[str, Any]) -> Answer:
        client = self._owner.client
        try:
            answer = search(client, json.dumps(body).encode())
        except SystemAway as error:
            if isinstance(error.__cause__, AnswerTooLong):
                msg = f"a page is {error.__cause__}: leave out large fields (fields)"
                raise PageTooLarge(msg) from error
            raise
        # One that is not known, or not of this server, is refused in many ways.
        if answer.status == _NOT_FOUND or (not self._is_new and answer.status == _BAD):
            raise SessionLost(answer.said())
        return answer


def search(client: HttpClient, body: bytes) -> Answer:
    """One request of the search API. Every document comes through here. Raises as HttpClient.ask."""
    return client.ask("POST", "/_search", body, headers=_HEADERS, parameters={"allow_partial_search_results": "false"})


def _object(client: HttpClient, answer: Answer, what: str) -> Mapping[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, Mapping):
        raise _rubbish(client, answer, what)
    return body


def _rubbish(client: HttpClient, answer: Answer, what: str) -> NoSearch:
    return NoSearch(f"{client.place} answers with what is {what}: {answer.said()}")

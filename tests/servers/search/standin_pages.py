"""As much of Elasticsearch and OpenSearch as a reader of documents sees: points in time, and search_after in them."""

import json
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

Document = tuple[str, int, Any]
"""Its id, its place among all that were written, and what it has."""


class Pages:
    """Points in time of the indexes of a stand-in.

    Attributes:
        flavor: elasticsearch, opensearch, or old: an OpenSearch that has no _shard_doc.
        points: Those that are open.
        largest: index.max_result_window.
        kinds: By field its type, where the values do not say.
        asked: The bodies of the searches.
    """

    def __init__(self) -> None:
        self.flavor = "elasticsearch"
        self.points: dict[str, tuple[str, list[Document]]] = {}
        self.largest = 10_000
        self.kinds: dict[str, str] = {}
        self.asked: list[Any] = []
        self._numbers = count(1)

    @property
    def path(self) -> str:
        """Where points in time are."""
        return "/_pit" if self.flavor == "elasticsearch" else "/_search/point_in_time"

    def answer(self, server: Any, method: str, url: str, body: bytes) -> tuple[int, Any] | None:
        """The answer; None: it is none of these requests."""
        path, asked = urlsplit(url).path, parse_qs(urlsplit(url).query)
        if method == "POST" and path == "/_search":
            return self._search(json.loads(body))
        if method == "DELETE" and path == self.path:
            return self._drop(json.loads(body))
        index, _, rest = path.strip("/").partition("/")
        if rest == "_settings/index.uuid":
            return self._settings(server, index)
        return self._of_index(server, index, rest, asked) if rest in ("_field_caps", "_mapping", self.path.strip("/")) else None

    def _drop(self, told: Any) -> tuple[int, Any]:
        for point in [told["id"]] if "id" in told else told["pit_id"]:
            self.points.pop(point, None)
        return 200, {"succeeded": True}

    def _of_index(self, server: Any, index: str, rest: str, asked: dict[str, list[str]]) -> tuple[int, Any]:
        if index not in server.indexes:
            return _error(404, "index_not_found_exception", f"no such index [{index}]")
        if rest == "_mapping":
            mapping = {field: {"type": self._kind(server, index, field)} for field in server.mappings[index]}
            return 200, {index: {"mappings": {"properties": mapping}}}
        if rest == "_field_caps":
            (field,) = asked["fields"]
            kind = self._kind(server, index, field)
            return 200, {"fields": {field: {kind: {"aggregatable": kind != "text"}}} if kind else {}}
        point = f"point-{next(self._numbers)}"
        self.points[point] = (index, [(key, place, value) for place, (key, value) in enumerate(server.indexes[index].items())])
        return 200, {"id" if self.flavor == "elasticsearch" else "pit_id": point}

    def _kind(self, server: Any, index: str, field: str) -> str:
        return self.kinds.get(field, str(server.mappings.get(index, {}).get(field, "")))

    def _settings(self, server: Any, names: str) -> tuple[int, Any]:
        found: dict[str, Any] = {}
        for name in names.split(","):
            some = [index for index in server.indexes if fnmatchcase(index, name)]
            if not some and "*" not in name:
                return _error(404, "index_not_found_exception", f"no such index [{name}]")
            found |= {index: {"settings": {"index.uuid": f"uuid-of-{index}"}} for index in some}
        return 200, found

    def _search(self, body: Any) -> tuple[int, Any]:
        self.asked.append(body)
        point = body["pit"]["id"]
        if not point.startswith("point-"):
            return _error(400, "illegal_argument_exception", f"invalid id: [{point}]")
        if point not in self.points:
            return _error(404, "search_phase_execution_exception", "all shards failed")
        if body["size"] > self.largest:
            why = f"Result window is too large, max_result_window is {self.largest}"
            return _error(400, "illegal_argument_exception", why)
        order = [next(iter(each)) for each in body.get("sort", [])]
        if self.flavor == "old" and "_shard_doc" in order:
            return _error(400, "query_shard_exception", "No mapping found for [_shard_doc] in order to sort on")
        found = [each for each in self.points[point][1] if _matches(body.get("query", {}), each[2])]
        hits = sorted(([_value(each, field) for field in order], each) for each in found)
        after = body.get("search_after")
        behind = [hit for hit in hits if after is None or hit[0] > after][: body["size"]]
        made = [{"_id": each[0], "_source": _picked(each[2], body.get("_source")), "sort": place} for place, each in behind]
        total = {"total": {"value": len(hits)}} if body["track_total_hits"] else {}
        return 200, {"pit_id": point, "_shards": {"total": 1, "failed": 0}, "hits": {**total, "hits": made}}


def _picked(value: Any, fields: Any) -> Any:
    return {name: value[name] for name in value if name in fields} if isinstance(fields, list) else value


def _value(document: Document, field: str) -> Any:
    if field in ("_shard_doc", "_id"):
        return document[1] if field == "_shard_doc" else document[0]
    return _comparable(document[2][field])


def _comparable(value: Any) -> Any:
    if isinstance(value, str) and value[:4].isdecimal() and value.endswith("Z"):
        since = datetime.fromisoformat(value) - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000
    return value


def _matches(query: Any, value: Any) -> bool:
    ((kind, what),) = query.items() if query else [("match_all", {})]
    if kind == "match_all":
        return True
    if kind == "bool":
        return all(_matches(each, value) for each in what["filter"])
    if kind == "exists":
        return value.get(what["field"]) is not None
    ((field, wanted),) = what.items()
    if kind == "range":
        return bool(_comparable(value[field]) >= wanted["gte"])
    assert kind == "term"
    return bool(value.get(field) == wanted)


def _error(status: int, kind: str, reason: str) -> tuple[int, Any]:
    return status, {"error": {"type": kind, "reason": reason}, "status": status}

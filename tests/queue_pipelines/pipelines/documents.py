"""An index of OpenSearch, as an independent client reads it."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import httpx

from tests.servers.search.real import OpenSearch

INDEX = "events"
_PAGE = 2_000
_SECONDS = 60.0


class Documents:
    """The index INDEX of a server.

    Args:
        server: Runs.
    """

    def __init__(self, server: OpenSearch) -> None:
        self._url = server.url

    def options(self) -> Mapping[str, str]:
        """Of a sink that writes there."""
        return {"connector.class": "elasticsearch_sink", "url": self._url, "index": INDEX}

    def numbers(self) -> Set[int]:
        """The `number` of each document."""
        return {document["number"] for document in self.all()}

    def all(self) -> Sequence[Mapping[str, Any]]:
        """All documents, each with its fields."""
        if not self._refresh():
            return []
        page = self._ask(f"{INDEX}/_search?scroll=1m", {"size": _PAGE, "sort": ["_doc"]})
        found: list[Mapping[str, Any]] = []
        while hits := page["hits"]["hits"]:
            found += [hit["_source"] for hit in hits]
            page = self._ask("_search/scroll", {"scroll": "1m", "scroll_id": page["_scroll_id"]})
        return found

    def _refresh(self) -> bool:
        """Makes visible what was written; whether there is an index."""
        answer = httpx.post(f"{self._url}/{INDEX}/_refresh", timeout=_SECONDS)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return False
        answer.raise_for_status()
        return True

    def _ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = httpx.post(f"{self._url}/{path}", json=body, timeout=_SECONDS)
        answer.raise_for_status()
        return dict(answer.json())

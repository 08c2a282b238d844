"""A service of the web with a list, in all forms of pages that there are."""

import json
import threading
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Fault = Callable[["_Handler"], bool]
"""Answers a request in the place of the service; whether it has."""


class Service(ThreadingHTTPServer):
    """A service.

    Attributes:
        items: What there is, by the time of its change: {"id", "text", "at"}.
        faults: What goes wrong with the next requests, one of them each.
        asked: The parameters of each request.
        headers: Of the newest request.
        page: A page has so many items, where nothing is said.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.clear()

    def clear(self) -> Self:
        """Forgets everything."""
        self.items: list[dict[str, Any]] = []
        self.faults: list[Fault] = []
        self.asked: list[dict[str, list[str]]] = []
        self.headers: dict[str, str] = {}
        self.page = 5
        self._seconds = count(100)
        self._ids = count(1)
        return self

    def add(self, texts: Sequence[str]) -> None:
        """Items that are newer than all others."""
        for text in texts:
            self.items.append(self._item(text, next(self._seconds)))

    def add_late(self, texts: Sequence[str]) -> None:
        """Items whose time is before that of the newest one."""
        for text in texts:
            newest = datetime.fromisoformat(self.items[-1]["at"]) - _BEGIN
            insort(self.items, self._item(text, newest.total_seconds() - 1.5), key=lambda item: item["at"])

    def _item(self, text: str, seconds: float) -> dict[str, Any]:
        at = (_BEGIN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"id": next(self._ids), "text": text, "at": at}

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["Service"]:
        """One that answers within the block."""
        with cls() as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield server
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Service

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        server = self.server
        server.asked.append(query)
        server.headers = {name.lower(): text for name, text in self.headers.items()}
        if server.faults and server.faults.pop(0)(self):
            return
        asked = {name: texts[0] for name, texts in query.items()}
        found = [item for item in server.items if item["at"] >= asked.get("since", "")]
        size = min(int(asked.get("limit", server.page)), 50)
        form = path.strip("/")
        if form == "last":
            found = [item for item in server.items if item["id"] > int(asked.get("after", 0))]
            self.answer(200, {"data": found[:size], "has_more": len(found) > size})
            return
        if form == "number":
            begin = (int(asked["page"]) - 1) * size
        else:
            begin = int(asked.get("cursor", "at-0").removeprefix("at-")) if form != "offset" else int(asked["offset"])
        items, end = found[begin : begin + size], begin + len(found[begin : begin + size])
        more = end < len(found)
        following = f"{path}?{urlencode({**asked, 'cursor': f'at-{end}'})}"
        if form == "link":
            self.answer(200, items, **({"Link": f'<{path}>; rel="first", <{server.url}{following}>; rel="next"'} if more else {}))
        elif form == "url":
            self.answer(200, {"value": items, **({"@odata.nextLink": following} if more else {})})
        elif form == "cursor":
            self.answer(200, {"data": {"items": items}, "next": f"at-{end}" if more else None})
        elif form == "feed":
            self.answer(200, {"items": items, "next": f"at-{end}", "has_more": more})
        else:
            self.answer(200, items if form != "all" else found)

"""As much of Elasticsearch as connectors see: bulk requests and points in time, in this process. Real ones are slow to start."""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from tests.servers.search.standin_pages import Pages

Fault = Callable[["_Handler", list[tuple[str, dict[str, Any], Any]]], bool]
"""Answers a request of the bulk API in the place of the server, or changes what it does; whether it has answered."""
PageFault = Callable[["_Handler"], bool]
"""Answers a request of a reader in the place of the server; whether it has."""
_TYPES = {bool: "boolean", int: "long", float: "double", str: "text", dict: "object"}


class StandIn(ThreadingHTTPServer):
    """A server with its indexes.

    Attributes:
        indexes: By name the documents by their ids.
        mappings: By name what is known of the fields.
        faults: What goes wrong with the next requests of the bulk API, one of them each.
        sizes: Of the requests of the bulk API.
        largest: A longer request is refused.
        password: Of the user `me`; empty: anybody is let in.
        streams: Indexes that are data streams.
        pages: What readers see of it.
        page_faults: What goes wrong with the next requests of readers, one of them each.
    """

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> Self:
        """Forgets everything."""
        self.indexes: dict[str, dict[str, Any]] = {}
        self.mappings: dict[str, dict[str, Any]] = {}
        self.faults: list[Fault] = []
        self.sizes: list[int] = []
        self.largest = 100 << 20
        self.password = ""
        self.streams: set[str] = set()
        self.pages = Pages()
        self.page_faults: list[PageFault] = []
        self._ids = count()
        return self

    def documents(self, index: str) -> dict[str, Any]:
        """The documents of an index by their ids."""
        return self.indexes.get(index, {})

    def apply(self, action: str, where: dict[str, Any], value: Any) -> dict[str, Any]:
        """Makes one change, and gives its item of the answer."""
        name = where["_index"]
        key = where["_id"] if "_id" in where else f"made-{next(self._ids)}"
        if name in self.streams and action != "create":
            return _error(400, "illegal_argument_exception", "only write ops with an op_type of create are allowed in data streams")
        if action == "delete":
            there = self.indexes.get(name, {}).pop(key, None) is not None
            return {"status": 200 if there else 404}
        index = self.indexes.setdefault(name, {})
        if action == "create" and key in index:
            return _error(409, "version_conflict_engine_exception", f"[{key}]: version conflict, document already exists")
        if action == "update":
            value = {**index.get(key, {}), **value["doc"]}
        fields = self.mappings.setdefault(name, {})
        for field, each in value.items():
            kind = fields.setdefault(field, _TYPES.get(type(each), "text"))
            if kind == "long" and isinstance(each, str) and not each.lstrip("-").isdigit():
                why = f"failed to parse field [{field}] of type [long] in document with id '{key}'"
                return _error(400, "mapper_parsing_exception", why, f'For input string: "{each}"')
        index[key] = value
        return {"status": 201}


def _error(status: int, kind: str, reason: str, cause: str = "") -> dict[str, Any]:
    more = {"caused_by": {"type": "illegal_argument_exception", "reason": cause}} if cause else {}
    return {"status": status, "error": {"type": kind, "reason": reason, **more}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: StandIn

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else data)

    def refuse(self, status: int, kind: str, reason: str) -> None:
        self.answer(status, {"error": {"type": kind, "reason": reason}, "status": status})

    def do_GET(self) -> None:
        if self._let_in() and not self._read(b""):
            distribution = {} if self.server.pages.flavor == "elasticsearch" else {"distribution": "opensearch"}
            self.answer(200, {"version": {"number": "9.5.3", **distribution}, "tagline": "You Know, for Search"})

    def do_DELETE(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._let_in() and not self._read(body):
            self.refuse(405, "illegal_argument_exception", "no handler found")

    def do_HEAD(self) -> None:
        self.answer(200 if self._name() in self.server.indexes else 404, {})

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            if self._name() in self.server.indexes:
                return self.refuse(400, "resource_already_exists_exception", f"index [{self._name()}] already exists")
            if body["settings"].get("number_of_shards") == 0:
                return self.refuse(400, "illegal_argument_exception", "Failed to parse value [0] for setting [number_of_shards]")
            self.server.indexes[self._name()] = {}
            self.server.mappings[self._name()] = {
                field: each.get("type", "object") for field, each in body["mappings"]["properties"].items()
            }
        return self.answer(200, {"acknowledged": True})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.sizes.append(len(body))
        if not self._let_in() or self._read(body):
            return
        if len(body) > self.server.largest:
            self.answer(413, b"")
            return
        todo = _actions(body)
        if self.server.faults and self.server.faults.pop(0)(self, todo):
            return
        with self.server.lock:
            items = [{action: self.server.apply(action, where, value)} for action, where, value in todo]
        self.answer(200, {"errors": any("error" in each for item in items for each in item.values()), "items": items})

    def _read(self, body: bytes) -> bool:
        """Whether it is a request of a reader, and answered."""
        if self.path == "/" or self.path.startswith("/_bulk"):
            return False
        if self.server.page_faults and self.server.page_faults.pop(0)(self):
            return True
        with self.server.lock:
            found = self.server.pages.answer(self.server, self.command, unquote(self.path), body)
        if found is not None:
            self.answer(*found)
        return found is not None

    def _name(self) -> str:
        return unquote(urlsplit(self.path).path).strip("/")

    def _let_in(self) -> bool:
        wanted = "Basic " + base64.b64encode(f"me:{self.server.password}".encode()).decode()
        if not self.server.password or self.headers.get("Authorization") == wanted:
            return True
        self.refuse(401, "security_exception", "unable to authenticate user [me] for REST request")
        return False


def _actions(body: bytes) -> list[tuple[str, dict[str, Any], Any]]:
    lines = iter(body.splitlines())
    found: list[tuple[str, dict[str, Any], Any]] = []
    for line in lines:
        ((action, where),) = json.loads(line).items()
        found.append((action, where, None if action == "delete" else json.loads(next(lines))))
    return found

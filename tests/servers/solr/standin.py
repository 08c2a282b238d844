"""As much of Solr as the sink sees, in this process. The real one is slow to start."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Fault = Callable[["_Handler"], bool]
"""Answers an update in the place of the server, or changes what it does; whether it has answered."""


class _Refused(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class StandIn(ThreadingHTTPServer):
    """A server with its collections; of `n` numbers alone are taken.

    Attributes:
        collections: By name the documents by their ids.
        faults: What goes wrong with the next updates, one of them each.
        bodies: Of the updates.
        parameters: Of the updates.
        password: Of the user `me`; empty: anybody is let in.
        absent: Collections that are not there. All others are.
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
        self.collections: dict[str, dict[str, dict[str, Any]]] = {}
        self.faults: list[Fault] = []
        self.bodies: list[bytes] = []
        self.parameters: list[dict[str, str]] = []
        self.password = ""
        self.absent: set[str] = set()
        return self

    def documents(self, collection: str) -> dict[str, dict[str, Any]]:
        """The documents of a collection by their ids."""
        return self.collections.get(collection, {})

    def apply(self, collection: str, command: str, value: Any, parameters: dict[str, str]) -> None:
        """Makes one change."""
        there = self.collections.setdefault(collection, {})
        if command == "delete":
            there.pop(value["id"], None)
            return
        document = value["doc"]
        key = document["id"]
        if document.pop("_version_", 0) < 0 and key in there:
            if parameters.get("failOnVersionConflicts") == "false":
                return
            raise _Refused(409, f"version conflict for {key} expected=-1 actual=1")
        changes = any(isinstance(each, dict) for each in document.values())
        made = dict(there.get(key, {})) if changes else {}
        for name, each in document.items():
            made[name] = _changed(made.get(name), each)
        made = {name: each for name, each in made.items() if each is not None}
        if not str(made.get("n", 0)).lstrip("-").isdigit():
            raise _Refused(400, f"ERROR: [doc={key}] Error adding field 'n'='{made['n']}' msg=For input string: \"{made['n']}\"")
        there[key] = made


def _changed(before: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((change, each),) = value.items()
    values = each if isinstance(each, list) else [each]
    known = before if isinstance(before, list) else [] if before is None else [before]
    match change:
        case "set":
            return each
        case "inc":
            return (before or 0) + each
        case "add":
            return [*known, *values]
        case "add-distinct":
            return [*known, *(one for one in values if one not in known)]
        case "remove":
            return [one for one in known if one not in values]
        case _:
            raise _Refused(400, f"Unknown operation for the an atomic update: {change}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: StandIn

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self, status: int, body: Any, **headers: str) -> bool:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)
        return True

    def refuse(self, status: int, text: str) -> None:
        self.answer(status, {"responseHeader": {"status": status}, "error": {"msg": text, "code": status}})

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self._let_in():
            return
        if path.split("/")[2] in self.server.absent:
            self.answer(404, b"<html>Can not find</html>")
        else:
            self.answer(200, {"responseHeader": {"status": 0}, "uniqueKey": "id"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parts = urlsplit(self.path)
        if not self._let_in():
            return
        collection = unquote(parts.path.split("/")[2])
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.parameters.append(parameters)
            if self.server.faults and self.server.faults.pop(0)(self):
                return
            if collection in self.server.absent:
                self.answer(404, b"<html>Can not find</html>")
                return
            errors: list[dict[str, str]] = []
            for command, value in _commands(body):
                try:
                    self.server.apply(collection, command, value, parameters)
                except _Refused as error:
                    if parameters.get("update.chain") != "tolerant":
                        self.refuse(error.code, str(error))
                        return
                    errors.append({"type": "ADD", "id": value["doc"]["id"], "message": str(error)})
        self.answer(200, {"responseHeader": {"status": 0, **({"errors": errors} if errors else {})}})

    def _let_in(self) -> bool:
        wanted = f"Basic {base64.b64encode(f'me:{self.server.password}'.encode()).decode()}"
        if self.server.password and self.headers.get("Authorization") != wanted:
            self.answer(401, b"<html>require authentication</html>")
            return False
        return True


def _commands(body: bytes) -> Iterator[tuple[str, Any]]:
    """The commands of an update in their order: their names come again."""
    text, at, decode = body.decode(), 1, json.JSONDecoder().raw_decode
    while text[at] == '"':
        name, end = decode(text, at)
        value, end = decode(text, end + 1)
        yield name, value
        at = end + 1
        if text[end] == "}":
            return

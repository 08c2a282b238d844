"""Takes events of OpenLineage over HTTP, and looks whether they are what its schema says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.processes import wait_until

_SCHEMA = json.loads((Path(__file__).parent / "openlineage-2-0-2.json").read_text(encoding="utf-8"))


class Receiver:
    """What it was sent.

    Attributes:
        answer: The status that it gives.
        tokens: The headers Authorization of all that came.
    """

    def __init__(self) -> None:
        self.answer = 201
        self.address = ""
        self.tokens: set[str] = set()
        self._taken: list[dict[str, Any]] = []

    def take(self, path: str, token: str, body: bytes) -> None:
        """One event; a wrong one is an error of the test that looks at it."""
        self.tokens.add(token)
        event = json.loads(body)
        problems = [each.message for each in jsonschema_rs.validator_for(_SCHEMA).iter_errors(event)]
        if self.answer < 300:
            self._taken.append({**event, "path": path, "problems": problems})

    def of(self, job: str) -> list[dict[str, Any]]:
        """The events of a job in their order."""
        found = [event for event in self._taken if event["job"]["name"] == job]
        assert [event["problems"] for event in found if event["problems"]] == []
        assert {event["path"] for event in found} <= {"/api/v1/lineage"}
        return found

    def types(self, job: str) -> list[str]:
        """What was told of a job."""
        return [event["eventType"] for event in self.of(job)]

    def wait_for(self, job: str, last: str) -> list[dict[str, Any]]:
        """Until this is the last word on a job."""
        wait_until(lambda: self.types(job)[-1:] == [last], 180)
        return self.of(job)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """One that runs on this machine."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.take(self.path, self.headers.get("Authorization", ""), body)
            self.send_response(made.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the server's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()

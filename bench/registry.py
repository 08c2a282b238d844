"""A schema registry that takes every schema, for converters that are measured: they ask it once for each."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def registry() -> Iterator[str]:
    """The URL of one that is there until the end of the block, on this machine alone."""
    held: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """A subject is asked for a schema: it has it."""
            schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if schema not in held:
                held.append(schema)
            self._answer({"id": held.index(schema) + 1})

        def do_GET(self) -> None:
            """The schema of an id."""
            self._answer(held[int(self.path.rpartition("/")[2]) - 1])

        def log_message(self, *_: object) -> None:
            """Nothing is written to the terminal."""

        def _answer(self, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()

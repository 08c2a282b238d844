"""The engine of a new ClickHouse behind HTTP, one request at a time: `python -m tests.servers.clickhouse_embedded PORT FOLDER`.

What goes with an INSERT as input() is a file that it reads. So the statements are those that a server gets, and the engine is the
server's; how a server reads requests, who may do what, and what runs at the same time is not shown by it.
"""

import gzip
import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from chdb.session import Session

_INPUT = re.compile(r"input\('((?:[^'\\]|\\.)*)'\)")
_OWN = {"query", "query_id", "database", "wait_end_of_query"}


class Handler(BaseHTTPRequestHandler):
    """Answers requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    session: ClassVar[Session]
    lock: ClassVar[threading.Lock] = threading.Lock()

    def do_POST(self) -> None:
        parameters = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            with self.lock:
                status, answer = 200, self._done(parameters, body)
        except Exception as error:
            status, answer = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _done(self, parameters: dict[str, str], body: bytes) -> bytes:
        for name, value in parameters.items():
            if name not in _OWN:
                self.session.query(f"SET {name} = '{value}'")
        self.session.query(f"USE `{parameters.get('database', 'default')}`")
        if "query" not in parameters:
            return self._answer(body.decode())
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(body)
            file.flush()
            query = _INPUT.sub(lambda found: f"file('{file.name}', 'Native', '{found[1]}')", parameters["query"])
            return self._answer(query.removesuffix(" FORMAT Native"))

    def _answer(self, query: str) -> bytes:
        text, _, form = query.rpartition(" FORMAT ")
        found = self.session.query(text, form) if text and form.isalpha() else self.session.query(query)
        return bytes(found.bytes() or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


if __name__ == "__main__":
    Handler.session = Session(sys.argv[2])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

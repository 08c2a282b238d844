"""moto's server of S3, which takes one change at a time: `python -m tests.servers.objects.s3_server`, with moto's arguments.

By itself it looks at If-Match in one thread while another one writes, so both of two conditional writes may succeed. S3 keeps
them apart.
"""

import io
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import moto.server
from werkzeug.serving import run_simple
from werkzeug.wsgi import get_input_stream

App = Callable[[dict[str, Any], Any], Iterable[bytes]]
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def one_at_a_time(app: App) -> App:
    """The same application, of which one request at a time changes something."""
    turn = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in _READS:
            return app(environ, start_response)
        # The body comes first: whoever is stopped while he sends it holds nobody up.
        body = get_input_stream(environ).read()
        whole = {name: value for name, value in environ.items() if name not in ("HTTP_TRANSFER_ENCODING", "wsgi.input_terminated")}
        whole |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        with turn:
            return app(whole, start_response)

    return answer


def _serve(host: str, port: int, app: App, **more: Any) -> None:
    run_simple(host, port, one_at_a_time(app), **more)


if __name__ == "__main__":
    # It has no other way in.
    vars(moto.server)["run_simple"] = _serve
    moto.server.main(sys.argv[1:])

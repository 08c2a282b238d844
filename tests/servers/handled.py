"""A server of this process that speaks HTTP, and what of a process of its own is waited for."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.server_process import START_SECONDS


@contextmanager
def handled(handle: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[int]:
    """Run a server until the end of the block; gives its port on 127.0.0.1. Each connection has a thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # The head of an answer does not wait for the client to acknowledge it.
        wbufsize = -1

        def log_message(self, *_: object) -> None: ...

    def answer(request: BaseHTTPRequestHandler) -> None:
        handle(request)

    for method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def answering(
    command: Sequence[str], answers: Callable[[], bool], failed: Callable[[str], Exception], environment: Mapping[str, str]
) -> Iterator[None]:
    """Run a process until the end of the block, which begins when it answers.

    Args:
        command: Its command line.
        answers: Whether it does.
        failed: What is raised when it ends, or does not answer in START_SECONDS, of the words for people.
        environment: Beside that of this process.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    try:
        until = time.monotonic() + START_SECONDS
        while not answers():
            if process.poll() is not None or time.monotonic() > until:
                raise failed(f"{' '.join(command)} does not answer")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()

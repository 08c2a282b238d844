import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from tests import free_ports
from tests.chaos.network import Network, Proxy

GREETER = """
import socket, sys

server = socket.create_server((sys.argv[1], 7000))
while True:
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()
"""


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that gives back what it gets."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    with closing(server):
        yield server.getsockname()[1]


def proxied(echo: int) -> tuple[Proxy, socket.socket]:
    port = free_ports.choose()
    proxy = Proxy({("127.0.0.1", port): ("127.0.0.1", echo)})
    return proxy, socket.create_connection(("127.0.0.1", port), timeout=10)


def test_a_proxy_passes_everything_on_both_ways(echo: int) -> None:
    _, connection = proxied(echo)
    sent = os.urandom(1 << 20)
    with connection:
        threading.Thread(target=connection.sendall, args=(sent,), daemon=True).start()
        got = b""
        while len(got) < len(sent):
            got += connection.recv(1 << 16)
    assert got == sent


def test_a_proxy_that_delays_does_so_each_way(echo: int) -> None:
    proxy, connection = proxied(echo)
    proxy.delay = 0.2
    with connection:
        begin = time.monotonic()
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        assert time.monotonic() - begin >= 0.4


def test_what_a_proxy_holds_back_arrives_when_it_is_released(echo: int) -> None:
    proxy, connection = proxied(echo)
    with connection:
        connection.sendall(b"a")
        assert connection.recv(1) == b"a"
        proxy.hold()
        connection.sendall(b"b")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(10)
        proxy.release()
        assert connection.recv(1) == b"b"


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_hosts_reach_each_other_unless_they_are_cut_off_and_only_from_that_address() -> None:
    network = Network(["here", "there"], ["away"])
    server = subprocess.Popen(network.enter("away", [sys.executable, "-c", GREETER, network.addresses["away"]]))
    try:
        assert reached(network, "here", 10)
        network.cut([("here", "away")])
        assert not reached(network, "here", 0.3)
        assert reached(network, "there", 10)
        network.mend()
        assert reached(network, "here", 10)
    finally:
        server.kill()
        server.wait()
        network.close()


def reached(network: Network, source: str, seconds: float) -> bool:
    """Whether the other host answers within that time."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        with (
            suppress(OSError),
            socket.create_connection(
                (network.addresses["away"], 7000), timeout=left, source_address=(network.addresses[source], 0)
            ) as connection,
        ):
            return connection.recv(5) == b"hello"
        time.sleep(0.02)
    return False

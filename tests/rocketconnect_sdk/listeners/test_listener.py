"""A port with clients, whatever their protocol is."""

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest

from rocketconnect_sdk.listeners import Inbox, Outcome, Protocol, Received, drained, server
from rocketconnect_sdk.listeners.server import Listener
from tests import free_ports


class Words(Protocol):
    """Says what has become of each line."""

    too_many = b"full\n"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox) -> None:
        while line := await reader.readline():
            if line == b"defect\n":
                raise KeyError(line)
            if line == b"long\n":
                writer.write(b"x" * 100_000)
                await drained(writer)
                continue
            outcome = await inbox.deliver([Received(None, part, size=1) for part in line.decode().split()])
            writer.write(f"{outcome.value}\n".encode())
            await writer.drain()


@pytest.fixture
def inbox() -> Inbox:
    return Inbox(100, 3, 60.0)


@pytest.fixture
def port(inbox: Inbox) -> Iterator[int]:
    port = free_ports.choose()
    listener = Listener("127.0.0.1", port, Words(), inbox, None, 2, logging.getLogger("test"))
    yield port
    inbox.close()
    listener.close()
    assert not listener.is_alive


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 60)


def taken(inbox: Inbox, count: int) -> list[Received]:
    found: list[Received] = []
    while len(found) < count:
        found += inbox.take(count - len(found), 100, 0.1)
    return found


def test_a_client_that_speaks_nonsense_and_a_defect_end_one_connection_alone(
    port: int, inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    for line in (b"\xff\n", b"x" * 100_000 + b"\n", b"defect\n"):
        with connected(port) as client:
            client.sendall(line)
            try:
                assert client.recv(100) == b""
            except ConnectionResetError:
                # What it had still to say is not read.
                continue
    with connected(port) as client:
        client.sendall(b"a b\n")
        first, last = taken(inbox, 2)
        assert (first.tag, last.value) == (None, "b")
        last.tag.settle(Outcome.STORED)
        assert client.recv(100) == b"stored\n"
    assert [record.message for record in caplog.records] == ["a client could not be served, which is a defect of the connector"]


def test_more_clients_than_there_may_be_are_told_so(port: int, inbox: Inbox) -> None:
    with connected(port) as one, connected(port) as two:
        for client in (one, two):
            client.sendall(b"a\n")
            taken(inbox, 1)[0].tag.settle(Outcome.AGAIN)
            assert client.recv(100) == b"again\n"
        with connected(port) as three:
            assert three.recv(100) == b"full\n"


def test_clients_that_never_read_their_answers_keep_nobody_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_ANSWER_SECONDS", 0.3)
    for _ in range(3):
        # Not closed alone: what nobody reads would stay in memory, and the connection with it.
        with connected(port) as client, pytest.raises(ConnectionError):
            while True:
                client.sendall(b"long\n" * 1_000)
    with connected(port) as client:
        client.sendall(b"long\n")
        assert client.recv(1) == b"x"


def test_what_is_sent_together_may_be_taken_in_parts_and_more_than_there_is_room_for_is_refused(port: int, inbox: Inbox) -> None:
    with connected(port) as one, connected(port) as two:
        one.sendall(b"a b c\n")
        assert [each.value for each in taken(inbox, 1)] == ["a"]
        two.sendall(b"d\n")
        assert two.recv(100) == b"busy\n"
        assert [each.value for each in inbox.take(10, 100, 0.0)] == ["b", "c"]
    assert inbox.reserve(100)
    assert not inbox.reserve(1)
    inbox.release(100)
    assert inbox.reserve(1000)
    assert not inbox.reserve(1)


def test_who_waits_when_it_ends_is_told_to_come_again(port: int, inbox: Inbox) -> None:
    with connected(port) as client:
        client.sendall(b"a\n")
        taken(inbox, 1)
        inbox.close()
        assert client.recv(100) == b"again\n"
        client.sendall(b"b\n")
        assert client.recv(100) == b"again\n"
    assert not inbox.reserve(1)

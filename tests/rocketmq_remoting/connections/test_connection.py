"""A connection against peers that misbehave: what is under way always ends, and says whether it may have had effect."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from rocketmq_remoting import ConnectionLost, DeadlinePassed, NotSent, RequestTimeout
from rocketmq_remoting.connections.clock import boot_seconds
from rocketmq_remoting.connections.connection import Connection
from rocketmq_remoting.connections.network import Network
from rocketmq_remoting.protocol.codes import RequestCode
from rocketmq_remoting.protocol.frame import Frame, decode_frame, decode_prefix, encode_head
from rocketmq_remoting.protocol.requests import Request
from tests.suspended import suspend

REQUEST = Request(RequestCode.GET_MAX_OFFSET, {"topic": "t"}, b"body")
Peer = Callable[[socket.socket], None]


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network(None, None, connect_timeout=2, unacknowledged=15)
    yield made
    made.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Peer], str]]:
    """Run a peer for one connection; returns its address."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(peer: Peer) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run() -> None:
            with listener:
                sock, _ = listener.accept()
                with sock:
                    peer(sock)

        thread = threading.Thread(target=run)
        threads.append(thread)
        thread.start()
        host, port = listener.getsockname()
        return f"{host}:{port}"

    yield start
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_it_connects_to_where_a_server_is_said_to_be(serve: Callable[[Peer], str]) -> None:
    _, _, port = serve(lambda sock: None).rpartition(":")
    asked: list[tuple[str, int]] = []

    def locate(host: str, number: int) -> str:
        asked.append((host, number))
        return "127.0.0.1"

    made = Network(None, None, connect_timeout=2, unacknowledged=15, locate=locate)
    assert made.connection(f"no-such-host.invalid:{port}").address == f"no-such-host.invalid:{port}"
    made.close()
    assert asked == [("no-such-host.invalid", int(port))]


def _receive(sock: socket.socket) -> Frame:
    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = sock.recv(size - len(data))
            assert part
            data += part
        return data

    serialization, header, body = decode_prefix(exactly(8))
    return decode_frame(serialization, exactly(header), exactly(body))


def _answer(request: Frame, body: bytes = b"") -> bytes:
    return encode_head(0, request.opaque, {"for": str(request.opaque)}, len(body), response=True) + body


def _until_closed(sock: socket.socket) -> None:
    while sock.recv(1 << 16):
        pass


def _answers_one(received: list[Frame]) -> Peer:
    """A peer that keeps the first request that it gets, and answers it."""

    def peer(sock: socket.socket) -> None:
        received.append(_receive(sock))
        sock.sendall(_answer(received[0]))
        _until_closed(sock)

    return peer


def test_answers_in_any_order_find_their_requests(network: Network, serve: Callable[[Peer], str]) -> None:
    def peer(sock: socket.socket) -> None:
        requests = [_receive(sock) for _ in range(10)]
        for request in reversed(requests):
            sock.sendall(_answer(request, b"%d" % request.opaque))
        _until_closed(sock)

    connection = network.connection(serve(peer))
    pending = [connection.submit(REQUEST, lambda frame: frame, timeout=5, what="test") for _ in range(10)]
    answers = [one.result() for one in pending]
    assert [frame.body for frame in answers] == [b"%d" % frame.opaque for frame in answers]
    assert len({frame.opaque for frame in answers}) == 10
    network.close()


def test_answers_that_arrive_byte_by_byte_are_read_whole(network: Network, serve: Callable[[Peer], str]) -> None:
    def peer(sock: socket.socket) -> None:
        data = _answer(_receive(sock), b"small") + _answer(_receive(sock), b"x" * 200_000)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(150):
            sock.sendall(data[at : at + 1])
        sock.sendall(data[150:])
        _until_closed(sock)

    connection = network.connection(serve(peer))
    first, second = (connection.submit(REQUEST, lambda frame: frame.body, timeout=5, what="test") for _ in range(2))
    assert first.result() == b"small"
    assert second.result() == b"x" * 200_000
    network.close()


def test_a_lost_connection_leaves_the_outcome_unknown(network: Network, serve: Callable[[Peer], str]) -> None:
    address = serve(lambda sock: (_receive(sock), None)[1])
    with pytest.raises(ConnectionLost, match="may or may not have taken effect"):
        network.call(address, Request(RequestCode.SEND_MESSAGE_V2, {}), lambda frame: frame, timeout=5, what="test")


def test_of_what_only_asks_no_effect_is_in_doubt(network: Network, serve: Callable[[Peer], str]) -> None:
    address = serve(lambda sock: (_receive(sock), None)[1])
    with pytest.raises(ConnectionLost) as lost:
        network.call(address, Request(RequestCode.PULL_MESSAGE, {}), lambda frame: frame, timeout=5, what="pull")
    assert str(lost.value) == f"pull at {address}: the connection was lost before the answer (the server closed the connection)"


@pytest.mark.parametrize(
    "garbage",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">II", 20, 3 << 24 | 4) + bytes(16), struct.pack(">II", 8, 100)],
)
def test_a_peer_that_speaks_something_else_ends_the_connection_with_a_reason(
    network: Network, serve: Callable[[Peer], str], garbage: bytes
) -> None:
    def peer(sock: socket.socket) -> None:
        _receive(sock)
        sock.sendall(garbage)
        _until_closed(sock)

    with pytest.raises(ConnectionLost, match=r"frame|header"):
        network.call(serve(peer), REQUEST, lambda frame: frame, timeout=5, what="test")


def test_a_silent_peer_is_waited_for_until_the_deadline_only(network: Network, serve: Callable[[Peer], str]) -> None:
    address = serve(_until_closed)
    began = time.monotonic()
    with pytest.raises(RequestTimeout, match="no answer in time"):
        network.call(address, REQUEST, lambda frame: frame, timeout=0.3, what="test")
    assert time.monotonic() - began > 0.25
    network.close()


def test_deadlines_end_what_nobody_waits_for_while_others_have_longer(network: Network, serve: Callable[[Peer], str]) -> None:
    connection = network.connection(serve(_until_closed))
    longer = connection.submit(REQUEST, lambda frame: frame, timeout=30, what="longer")
    ended = threading.Event()
    time.sleep(0.6)  # the thread that expires has only seen the longer one
    began = time.monotonic()
    connection.submit(REQUEST, lambda frame: frame, timeout=0.7, what="shorter").add_done_callback(lambda _: ended.set())
    assert ended.wait(20)
    assert time.monotonic() - began > 0.65
    assert not longer.done()
    network.close()


def test_a_late_answer_is_no_answer_to_another_request(network: Network, serve: Callable[[Peer], str]) -> None:
    def peer(sock: socket.socket) -> None:
        late = _receive(sock)
        punctual = _receive(sock)
        sock.sendall(_answer(late, b"late") + _answer(punctual, b"punctual"))
        _until_closed(sock)

    connection = network.connection(serve(peer))
    with pytest.raises(RequestTimeout):
        connection.submit(REQUEST, lambda frame: frame, timeout=0.1, what="test").result()
    assert connection.submit(REQUEST, lambda frame: frame.body, timeout=5, what="test").result() == b"punctual"
    network.close()


def test_nothing_is_written_after_its_time(network: Network, serve: Callable[[Peer], str]) -> None:
    received: list[Frame] = []
    connection = network.connection(serve(_answers_one(received)))
    with pytest.raises(DeadlinePassed, match="not written"):
        connection.submit(REQUEST, lambda frame: frame, timeout=5, what="late", not_after=boot_seconds() - 0.001)
    other = Request(RequestCode.GET_MIN_OFFSET, {})
    connection.submit(other, lambda frame: frame, timeout=5, what="test", not_after=boot_seconds() + 5).result()
    assert [frame.code for frame in received] == [RequestCode.GET_MIN_OFFSET]
    network.close()


def test_nothing_is_written_when_its_time_has_passed_while_the_machine_was_suspended(
    network: Network, serve: Callable[[Peer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Frame] = []
    connection = network.connection(serve(_answers_one(received)))
    not_after = boot_seconds() + 60
    suspend(monkeypatch, 61)
    with pytest.raises(DeadlinePassed, match="not written"):
        connection.submit(REQUEST, lambda frame: frame, timeout=5, what="late", not_after=not_after)
    other = Request(RequestCode.GET_MIN_OFFSET, {})
    connection.submit(other, lambda frame: frame, timeout=5, what="test", not_after=boot_seconds() + 60).result()
    assert [frame.code for frame in received] == [RequestCode.GET_MIN_OFFSET]
    network.close()


def test_a_write_that_the_machine_was_suspended_in_goes_no_further(
    network: Network, serve: Callable[[Peer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suspended = threading.Event()
    received = bytearray()

    def peer(sock: socket.socket) -> None:
        # As soon as it is being written: what fits into no buffer waits for this side.
        received.extend(sock.recv(1))
        suspend(monkeypatch, 61)
        suspended.set()
        while part := sock.recv(1 << 20):
            received.extend(part)

    connection = network.connection(serve(peer))
    large = Request(RequestCode.SEND_BATCH_MESSAGE, {}, bytes(64 << 20))
    with pytest.raises(NotSent, match="broke while writing"):
        connection.submit(large, lambda frame: frame, timeout=300, what="test", not_after=boot_seconds() + 60)
    assert suspended.is_set()
    network.close()
    assert len(received) < 64 << 20


def test_a_write_that_stalls_past_its_time_never_completes(network: Network, serve: Callable[[Peer], str]) -> None:
    stalled = threading.Event()
    received = bytearray()

    def peer(sock: socket.socket) -> None:
        stalled.wait(10)
        while part := sock.recv(1 << 20):
            received.extend(part)

    connection = network.connection(serve(peer))
    large = Request(RequestCode.SEND_BATCH_MESSAGE, {}, bytes(64 << 20))
    with pytest.raises(NotSent, match="broke while writing"):
        connection.submit(large, lambda frame: frame, timeout=30, what="test", not_after=boot_seconds() + 0.3)
    assert not connection.is_open
    stalled.set()
    network.close()
    assert len(received) < 64 << 20


def test_requests_under_way_end_when_the_client_closes(network: Network, serve: Callable[[Peer], str]) -> None:
    connection = network.connection(serve(_until_closed))
    called: list[object] = []
    pending = connection.submit(REQUEST, lambda frame: frame, timeout=30, what="test")
    pending.add_done_callback(called.append)
    network.close()
    with pytest.raises(ConnectionLost, match="closed by this client"):
        pending.result()
    assert called == [pending]
    with pytest.raises(NotSent):
        connection.submit(REQUEST, lambda frame: frame, timeout=1, what="test")


def test_an_unreachable_server_is_a_refusal(network: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotSent, match=f"can't connect to 127.0.0.1:{port}"):
        network.connection(f"127.0.0.1:{port}")


def test_a_question_of_the_server_is_answered_as_not_supported(network: Network, serve: Callable[[Peer], str]) -> None:
    answers = []

    def peer(sock: socket.socket) -> None:
        request = _receive(sock)
        sock.sendall(encode_head(307, 99, {}, 0))
        answers.append(_receive(sock))
        sock.sendall(_answer(request))
        _until_closed(sock)

    network.call(serve(peer), REQUEST, lambda frame: frame, timeout=5, what="test")
    network.close()
    assert [(frame.code, frame.opaque, frame.is_response) for frame in answers] == [(3, 99, True)]


def test_a_callback_that_fails_does_not_end_the_connection(
    network: Network, serve: Callable[[Peer], str], caplog: pytest.LogCaptureFixture
) -> None:
    def peer(sock: socket.socket) -> None:
        first = _receive(sock)
        second = _receive(sock)
        sock.sendall(_answer(first) + _answer(second))
        _until_closed(sock)

    connection = network.connection(serve(peer))
    first = connection.submit(REQUEST, lambda frame: frame, timeout=5, what="test")

    def fail(_: object) -> None:
        message = "on purpose"
        raise ValueError(message)

    first.add_done_callback(fail)
    assert connection.submit(REQUEST, lambda frame: frame.code, timeout=5, what="test").result() == 0
    assert "on purpose" in caplog.text
    network.close()


def test_result_with_a_short_timeout_leaves_the_request_under_way(network: Network, serve: Callable[[Peer], str]) -> None:
    go = threading.Event()

    def peer(sock: socket.socket) -> None:
        request = _receive(sock)
        go.wait(5)
        sock.sendall(_answer(request))
        _until_closed(sock)

    connection = network.connection(serve(peer))
    pending = connection.submit(REQUEST, lambda frame: frame.code, timeout=5, what="test")
    with pytest.raises(TimeoutError, match="still under way"):
        pending.result(0.01)
    assert not pending.done()
    go.set()
    assert pending.result() == 0
    assert pending.result() == 0
    network.close()


class _ClosedWhileItWrites:
    """What a transport does that the reading thread closes while the writing one waits for room in its socket."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def read(self, size: int) -> bytes:
        self._closed.wait()
        return b""

    def write(self, buffers: Sequence[bytes], give_up_at: float) -> None:
        msg = "file descriptor cannot be a negative integer (-1)"
        raise ValueError(msg)

    def close(self) -> None:
        self._closed.set()


def test_a_server_that_ends_the_connection_while_a_request_waits_for_room_is_a_refusal() -> None:
    connection = Connection("peer:1", _ClosedWhileItWrites(), None)
    with pytest.raises(NotSent, match="the connection to peer:1 broke while writing"):
        connection.submit(REQUEST, lambda frame: frame.body, timeout=5, what="ask")
    assert not connection.is_open

"""Packets come whole, whatever pieces the network makes of them."""

import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.mysql.packets import PacketReader, PacketTooLarge
from rocketconnect_sdk.errors import SystemAway

_WHOLE = 0xFFFFFF


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, PacketReader]]:
    mine, theirs = socket.socketpair()
    reader = PacketReader(theirs, largest=40 << 20)
    with mine:
        yield mine, reader
    reader.close()


def _packet(payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + b"\0" + payload


def _sent(mine: socket.socket, raw: bytes) -> threading.Thread:
    thread = threading.Thread(target=mine.sendall, args=(raw,), daemon=True)
    thread.start()
    return thread


def _read(reader: PacketReader, count: int) -> list[bytes]:
    packets: list[bytes] = []
    while len(packets) < count:
        more = reader.read(10)
        assert more
        packets += more
    return packets


@given(st.lists(st.binary(max_size=50) | st.integers(0, 600_000).map(bytes), min_size=1, max_size=8), st.data())
def test_packets_cut_anywhere_are_whole_again(payloads: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(map(_packet, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    mine, theirs = socket.socketpair()
    reader = PacketReader(theirs)

    def send() -> None:
        for first, last in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            mine.sendall(raw[first:last])

    with mine:
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        assert _read(reader, len(payloads)) == payloads
        thread.join()
    reader.close()


@pytest.mark.parametrize("size", [_WHOLE - 1, _WHOLE, _WHOLE + 1, 2 * _WHOLE, 2 * _WHOLE + 5])
def test_a_packet_that_goes_on_in_others_is_one(ends: tuple[socket.socket, PacketReader], size: int) -> None:
    mine, reader = ends
    payload = bytes(range(256)) * (size // 256 + 1)
    parts = [payload[:size][at : at + _WHOLE] for at in range(0, size + 1, _WHOLE)]
    thread = _sent(mine, b"".join(map(_packet, parts)) + _packet(b"next"))
    assert _read(reader, 2) == [payload[:size], b"next"]
    thread.join()


def test_a_packet_that_goes_on_without_an_end_is_refused(ends: tuple[socket.socket, PacketReader]) -> None:
    mine, reader = ends
    _sent(mine, _packet(bytes(_WHOLE)) * 3)
    with pytest.raises(PacketTooLarge, match="more than"):
        reader.read(10)


def test_a_size_that_is_only_claimed_takes_no_memory(ends: tuple[socket.socket, PacketReader]) -> None:
    mine, reader = ends
    tracemalloc.start()
    mine.sendall((_WHOLE - 1).to_bytes(3, "little") + b"\0" + b"x")
    assert reader.read(0.2) == []
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_the_end_of_the_connection_is_a_server_that_is_away(ends: tuple[socket.socket, PacketReader]) -> None:
    mine, reader = ends
    mine.sendall(_packet(b"last") + b"\5\0\0\0cut")
    mine.close()
    assert reader.read(10) == [b"last"]
    with pytest.raises(SystemAway, match="closed the connection"):
        reader.read(10)


def test_closing_ends_a_read_in_another_thread_at_once(ends: tuple[socket.socket, PacketReader]) -> None:
    _, reader = ends
    threading.Timer(0.2, reader.close).start()
    begun = time.monotonic()
    assert reader.read(100) == []
    assert time.monotonic() - begun < 20
    assert reader.closed
    assert reader.read(100) == []

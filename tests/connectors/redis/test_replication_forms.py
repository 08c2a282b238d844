"""Forms of snapshots that the servers of the other tests do not write."""

import io
import tracemalloc
from struct import pack

import pytest

from connectors.redis.replication.commands import Commands, NoCommand, State
from connectors.redis.replication.packed import unpacked_lzf, ziplist, zipmap
from connectors.redis.replication.received import Spool
from connectors.redis.replication.snapshot import Held, Snapshot
from rocketconnect_sdk import PermanentError, RetriableError


def text(data: bytes) -> bytes:
    return bytes([len(data)]) + data


def snapshot(code: int, value: bytes, head: bytes = b"REDIS0012") -> list[Held]:
    data = head + bytes([code]) + text(b"k") + value + b"\xff" + bytes(8)
    return list(Snapshot(io.BytesIO(data), 1_000).keys())


def test_lists_of_old_servers_are_read() -> None:
    """The examples of ziplist.c and zipmap.c."""
    assert list(ziplist(b"\x0f\0\0\0\x0c\0\0\0\x02\0\0\xf3\x02\xf6\xff")) == [b"2", b"5"]
    numbers = b"\0\xc0\xfe\xff" + b"\x04\xf0\0\0\x80" + b"\x05\xfe\x85" + b"\x03\xe0" + pack("<q", 1 << 40)
    assert list(ziplist(bytes(10) + numbers + b"\x0a\x0bHello World\xff")) == [
        b"-2",
        b"-8388608",
        b"-123",
        b"%d" % (1 << 40),
        b"Hello World",
    ]
    assert list(zipmap(b"\x02\x03foo\x03\x00bar\x05hello\x05\x02worldxx\xff")) == [b"foo", b"bar", b"hello", b"world"]


def test_fields_that_expire_are_read_as_redis_writes_them() -> None:
    first = 4_000_000_000_000
    plain = b"\x03" + b"\0" + text(b"a") + text(b"1") + b"\x01" + text(b"b") + text(b"2") + b"\x06" + text(b"c") + text(b"3")
    (held,) = snapshot(24, pack("<q", first) + plain)
    assert (held.kind, held.value) == ("hash", {b"a": b"1", b"b": b"2", b"c": b"3"})
    assert held.fields_expire_ms == {b"b": first, b"c": first + 5}
    packed = b"\x81a\x02" + b"\x811\x02" + b"\x00\x01" + b"\x81b\x02" + b"\x812\x02" + b"\xf4" + pack("<q", first) + b"\x09"
    (held,) = snapshot(25, pack("<q", first) + text(bytes(6) + packed + b"\xff"))
    assert (held.value, held.fields_expire_ms) == ({b"a": b"1", b"b": b"2"}, {b"b": first})


def test_keys_of_modules_are_passed_and_forms_that_are_not_known_are_told() -> None:
    name = sum(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(letter) << 58 - 6 * at
        for at, letter in enumerate("ReJSON-RL")
    )
    (held,) = snapshot(7, b"\x81" + pack(">Q", name) + b"\x02\x05" + b"\x05" + text(b"{}") + b"\x04" + bytes(8) + b"\0")
    assert (held.kind, held.value) == ("ReJSON-RL", None)
    with pytest.raises(PermanentError, match="has the key b'k' of database 0 in form 99, which is not read"):
        snapshot(99, b"")
    with pytest.raises(RetriableError, match="is damaged at byte 23: it ends there"):
        snapshot(0, b"\x7f\xff")
    with pytest.raises(RetriableError, match="it begins with"):
        snapshot(0, text(b"x"), b"OTHER0001")
    with pytest.raises(ValueError, match="became 3 bytes, where 4 were told"):
        unpacked_lzf(b"\x02abc", 4)


def test_what_is_compressed_becomes_no_more_than_is_told() -> None:
    bomb = b"\x00a" + b"\xe0\xff\x00" * 300_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="where 100 were told"):
        unpacked_lzf(bomb, 100)
    packed = b"\xc3\x80" + pack(">I", len(bomb)) + text(b"x" * 10)[:1] + bomb
    with pytest.raises(RetriableError, match="900,002 bytes stand for 10, and are said to be compressed"):
        snapshot(0, packed)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_a_stream_of_commands_is_read_in_whatever_pieces_it_comes() -> None:
    stream = (
        b"\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*3\r\n$3\r\nset\r\n$1\r\nk\r\n$0\r\n\r\n"
        b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"
    )
    for size in (1, 2, 7, len(stream)):
        commands = Commands(State(100, 0), 1_000)
        found = []
        for begin in range(0, len(stream), size):
            commands.feed(stream[begin : begin + size])
            found += list(commands.read())
        assert [(each.name, each.arguments, each.database) for each in found] == [("SET", [b"k", b""], 3), ("DEL", [b"k"], 3)]
        assert found[-1].offset == commands.state.offset == 100 + len(stream)
    commands.feed(b"+what\r\n")
    with pytest.raises(NoCommand, match="stands b'\\+what'"):
        list(commands.read())


def test_a_spool_gives_what_it_got_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.redis.replication.received._MEMORY", 10)
    spool = Spool()
    taken = b""
    for number in range(50):
        spool.feed(b"%03d" % number)
        if number % 3 == 0:
            taken += spool.take(5)
    while some := spool.take(4):
        taken += some
    assert (taken, spool.left) == (b"".join(b"%03d" % number for number in range(50)), 0)
    spool.close()

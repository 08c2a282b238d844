"""How the stand-in for Doris speaks the protocol of MySQL."""

import hashlib
import os
import socketserver
import sqlite3
import struct
from typing import Any

from tests.servers.doris.cluster import USER, Cluster, Refused


class Sql(socketserver.StreamRequestHandler):
    """The protocol of MySQL, as far as PyMySQL speaks it: a login, and statements that are text."""

    doris: Cluster
    wbufsize = -1
    _AUTOCOMMIT = 2

    def handle(self) -> None:
        self._number = 0
        salt = os.urandom(20).replace(b"\0", b"\1")
        able = 0x00AFF7DF & ~0x0800 & ~0x01000000
        begin = struct.pack("<HBHH", able & 0xFFFF, 33, self._AUTOCOMMIT, able >> 16) + bytes([21]) + b"\0" * 10
        head = b"\x0a5.7.99\0" + struct.pack("<I", 1) + salt[:8] + b"\0"
        self._send(head + begin + salt[8:] + b"\0mysql_native_password\0")
        greeting = self._receive()
        user, _, rest = greeting[32:].partition(b"\0")
        given = rest[1 : 1 + rest[0]]
        secret = hashlib.sha1(self.doris.password.encode()).digest()
        wanted = bytes(a ^ b for a, b in zip(secret, hashlib.sha1(salt + hashlib.sha1(secret).digest()).digest(), strict=True))
        if user.decode() != USER or given != (wanted if self.doris.password else b""):
            self._error(1045, f"Access denied for user '{user.decode()}'@'127.0.0.1' (using password: YES)")
            return
        self._ok()
        while packet := self._receive():
            if packet[0] == 1:
                return
            if packet[0] != 3:
                self._ok()
                continue
            if not self._statement(packet[1:].decode()):
                return

    def _statement(self, text: str) -> bool:  # noqa: PLR0911 - one answer each
        word = text.split(maxsplit=1)[0].lower()
        with self.doris.lock:
            if word != "set":
                self.doris.seen.append(word)
            asked = "" if word == "set" else self.doris.on(word)
        if asked == "drop":
            return False
        if asked in ("late", "unseen"):
            self.doris.later(lambda: self.doris.run(text))
            if asked == "late":
                return False
            self._ok("{'label':'insert_1', 'status':'COMMITTED', 'txnId':'1'}")
            return True
        if asked not in ("", "lose"):
            self._error(1105, asked)
            return True
        try:
            with self.doris.lock:
                names, rows = self.doris.statement(text)
        except Refused as error:
            self._error(error.number, str(error))
            return True
        except sqlite3.ProgrammingError:
            return False
        if asked == "lose":
            return False
        if names:
            self._result(names, rows)
        else:
            self._ok("{'label':'insert_1', 'status':'VISIBLE', 'txnId':'1'}")
        return True

    def _result(self, names: list[str], rows: list[tuple[Any, ...]]) -> None:
        self._send(_count(len(names)))
        for name in names:
            kinds = struct.pack("<BHIBHBH", 12, 45, 1 << 20, 253, 0, 0, 0)
            self._send(b"".join(_text(each) for each in ("def", "", "", "", name, name)) + kinds)
        end = b"\xfe" + struct.pack("<HH", 0, self._AUTOCOMMIT)
        self._send(end)
        for row in rows:
            self._send(b"".join(b"\xfb" if each is None else _text(str(each)) for each in row))
        self._send(end)

    def _ok(self, said: str = "") -> None:
        self._send(b"\0" + _count(0) + _count(0) + struct.pack("<HH", self._AUTOCOMMIT, 0) + said.encode())

    def _error(self, number: int, text: str) -> None:
        self._send(b"\xff" + struct.pack("<H", number) + b"#HY000" + text.encode())

    def _send(self, data: bytes) -> None:
        self.wfile.write(struct.pack("<I", len(data))[:3] + bytes([self._number]) + data)
        self._number = (self._number + 1) % 256

    def _receive(self) -> bytes:
        self.wfile.flush()
        head = self.rfile.read(4)
        if len(head) < 4:
            return b""
        self._number = (head[3] + 1) % 256
        return self.rfile.read(int.from_bytes(head[:3], "little"))


def _count(number: int) -> bytes:
    return (
        bytes([number])
        if number < 251
        else b"\xfc" + struct.pack("<H", number)
        if number < 1 << 16
        else b"\xfe" + struct.pack("<Q", number)
    )


def _text(text: str) -> bytes:
    data = text.encode()
    return _count(len(data)) + data

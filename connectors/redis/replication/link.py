"""The link of a replica to its server.

https://redis.io/docs/latest/operate/oss_and_stack/management/replication/ and src/replication.c of https://github.com/redis/redis.

The client of Redis is not used: behind the answer to PSYNC comes what is no protocol of requests and answers.
"""

import re
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass

from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config

_AT_ONCE = 256 * 1024
_SPEAKS = "9.1.0"
"""The version of Valkey whose snapshots are read; one with fields that expire is given to no older replica."""
_FIX = "Correct user and password, or give the user what is missing (ACL SETUSER ... +psync +replconf +info +ping)"


@dataclass(frozen=True, slots=True)
class History:
    """What a server says of its history.

    Attributes:
        end: So many bytes its stream of commands has.
        shared: Up to there the history before the last failover is its own, too; -1: there is none.
        is_cluster: It is a node of a cluster.
    """

    end: int
    shared: int
    is_cluster: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers to PSYNC.

    Attributes:
        is_full: A snapshot comes, and then the commands behind `offset`; else the commands alone that were asked for.
        identity: The history.
        offset: Of the snapshot.
    """

    is_full: bool
    identity: str
    offset: int


class Link:
    """A connection. It is made with the first request.

    Args:
        config: That of the source.
        seconds: An answer may take so long; 0: as configured.

    All methods raise SystemAway where nobody answers, and PermanentError where we are refused.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        self._place: str = config["url"]
        self._config = config
        self._address = Address.of(self._place)
        self._host, self._port = self._address.nodes[0]
        self._seconds: float = seconds or config["request.timeout"]
        self._socket: socket.socket | None = None
        self._data = bytearray()

    def open(self) -> History:
        """Tells who we are and what we can read."""
        if self._address.service:
            self._find()
        self._log_in("user", "password")
        self._asked("PING")
        self._asked("REPLCONF", "capa", "eof", "capa", "psync2")
        # Redis knows no such word, and answers with an error.
        self._request("REPLCONF", "version", _SPEAKS)
        self._line()
        said = dict(re.findall(r"(\w+):(\S+)", self._asked("INFO", "replication") + self._asked("INFO", "cluster")))
        shared = int(said.get("second_repl_offset", -1))
        return History(int(said.get("master_repl_offset", 0)), shared - 1 if shared > 0 else -1, said.get("cluster_enabled") == "1")

    def follow(self, identity: str, offset: int) -> Answer:
        """Asks for the commands behind an offset of a history; without a history for a snapshot."""
        answer = self._asked("PSYNC", identity or "?", str(offset + 1) if identity else "-1")
        match answer.split():
            case ["FULLRESYNC", given, end]:
                return Answer(is_full=True, identity=given, offset=int(end))
            case ["CONTINUE", *given]:
                return Answer(is_full=False, identity=given[0] if given else identity, offset=offset)
        msg = f"{self._place}: the server answers {answer[:200]!r} to PSYNC, which is no answer to it"
        raise PermanentError(msg)

    def receive(self, seconds: float) -> bytes:
        """What has come, or comes within some time; nothing: nothing has."""
        if self._data:
            data = bytes(self._data)
            self._data.clear()
            return data
        try:
            return self._received(max(seconds, 0.001))
        except TimeoutError:
            return b""
        except OSError as error:
            raise self._away(error) from error

    def acknowledge(self, offset: int) -> None:
        """Tells how far the stream is done. The server ends links of which it hears nothing."""
        self._request("REPLCONF", "ACK", str(offset))

    def close(self) -> None:
        """Ends it. Never raises."""
        held, self._socket = self._socket, None
        if held is not None:
            with suppress(OSError):
                held.close()

    def _connected(self) -> socket.socket:
        if self._socket is not None:
            return self._socket
        made = socket.create_connection((self._host, self._port), self._seconds)
        try:
            if self._address.is_secure:
                context = ssl.create_default_context(cafile=self._config["ssl.ca.location"] or None)
                made = context.wrap_socket(made, server_hostname=self._host)
        except OSError:
            made.close()
            raise
        self._socket = made
        return made

    def _find(self) -> None:
        """Asks Sentinels, one after the other, which server is the master."""
        for number, node in enumerate(self._address.nodes, 1):
            try:
                found = self._found_by(*node)
            except SystemAway:
                if number == len(self._address.nodes):
                    raise
            else:
                self.close()
                self._host, self._port = found
                return

    def _found_by(self, host: str, port: int) -> tuple[str, int]:
        self.close()
        self._data.clear()
        self._host, self._port = host, port
        self._log_in("sentinel.user", "sentinel.password")
        if self._asked("SENTINEL", "get-master-addr-by-name", self._address.service) == "2":
            return self._bulk(self._line()), int(self._bulk(self._line()))
        msg = f"{self._place}: Sentinel at {host}:{port} knows no master {self._address.service}"
        raise SystemAway(msg)

    def _log_in(self, user: str, password: str) -> None:
        if self._config[user] or self._config[password]:
            self._asked("AUTH", *filter(None, [self._config[user]]), self._config[password])

    def _request(self, *words: str) -> None:
        parts = [f"*{len(words)}\r\n".encode()]
        for word in map(str.encode, words):
            parts += [b"$%d\r\n" % len(word), word, b"\r\n"]
        try:
            held = self._connected()
            held.settimeout(self._seconds)
            held.sendall(b"".join(parts))
        except OSError as error:
            raise self._away(error) from error

    def _asked(self, *words: str) -> str:
        """The answer to a request."""
        self._request(*words)
        line = self._line()
        if line.startswith("$"):
            return self._bulk(line)
        if not line.startswith("-"):
            return line[1:]
        if re.match("-(LOADING|NOMASTERLINK|MASTERDOWN|BUSY|ERR Can't SYNC while not connected)", line):
            msg = f"{self._place}: the server gives nothing for now: {line[1:]}"
            raise SystemAway(msg)
        if re.match("-(NOAUTH|WRONGPASS|NOPERM|ERR (AUTH|invalid password|Client sent AUTH))", line):
            msg = f"{self._place}: the server refuses the user: {line[1:]}. {_FIX}"
            raise PermanentError(msg)
        msg = f"{self._place}: the server refuses {words[0]}: {line[1:]}"
        raise PermanentError(msg)

    def _bulk(self, head: str) -> str:
        return self._exactly(int(head[1:]) + 2).decode(errors="replace").removesuffix("\r\n")

    def _line(self) -> str:
        """A line that is not empty: while a server makes a snapshot it sends empty ones."""
        while True:
            while b"\n" not in self._data:
                self._more()
            line, _, rest = bytes(self._data).partition(b"\n")
            self._data = bytearray(rest)
            if text := line.decode(errors="replace").strip():
                return text

    def _exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        data = bytes(self._data[:size])
        del self._data[:size]
        return data

    def _more(self) -> None:
        try:
            self._data += self._received(self._seconds)
        except OSError as error:
            raise self._away(error) from error

    def _received(self, seconds: float) -> bytes:
        held = self._connected()
        held.settimeout(seconds)
        data = held.recv(_AT_ONCE)
        if not data:
            msg = "it has ended the connection"
            raise ConnectionError(msg)
        return data

    def _away(self, error: OSError) -> SystemAway:
        return SystemAway(f"{self._place}: the server does not answer: {error}")

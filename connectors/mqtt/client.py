"""A client of MQTT for one thread, which reads the network when it is asked and at no other time.

So what is not asked for stays with the broker, and a message is acknowledged when we say so: of QoS 2, too, whose PUBREC hands the
message over. Clients with a thread of their own send that at once, and a process that is killed then has lost the message.
"""

import ssl
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from socket import IPPROTO_TCP, SHUT_WR, TCP_NODELAY, create_connection, gaierror
from typing import Any, NoReturn
from urllib.parse import urlsplit
from uuid import uuid4

from connectors.mqtt import packets
from connectors.mqtt.options import CHECK_SECONDS, FIVE, PORTS
from connectors.mqtt.packets import Kind, Malformed, Packet
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import reading

KEEP_ALIVE_SECONDS = 30
_PIECE = 1 << 16
_END_SECONDS = 2.0
_HEAD = 1 << 18
"""So much of a message that is too large is kept: its topic and properties, and the first part of its payload."""
_AWAY = {3: "the broker is not available"}
_AWAY_FIVE = {
    0x88: "the broker is not available",
    0x89: "the broker is busy",
    0x8B: "the broker is shutting down",
    0x8D: "the broker has heard nothing for too long",
    0x8E: "another client with our id has connected",
    0x97: "a quota is exceeded",
    0x9F: "too many connections in a short time",
}
_REFUSED = {
    1: "the broker does not speak this version of MQTT; set `version`",
    2: "the broker refuses our client id",
    4: "the broker refuses user or password",
    5: "the broker does not let us in",
}
_REFUSED_FIVE = {
    0x84: "the broker does not speak this version of MQTT; set `version`",
    0x85: "the broker refuses our client id",
    0x86: "the broker refuses user or password",
    0x87: "the broker does not let us do this",
    0x8A: "the broker has banned us",
    0x8F: "the filter is not valid",
    0x90: "the topic is not valid",
    0x95: "the packet is too large",
    0x99: "the payload is not what its format says",
    0x9A: "the broker keeps no retained messages",
    0x9B: "the broker does not support this QoS",
    0x9C: "the broker has another server for us",
    0x9D: "the broker has moved",
    0x9E: "the broker has no shared subscriptions",
    0xA2: "the broker has no wildcards in subscriptions",
}


def reason_of(code: int, words: str = "") -> str:
    """A reason code of version 5, for people."""
    known = _AWAY_FIVE.get(code) or _REFUSED_FIVE.get(code) or "the broker refuses it"
    return f"{known} (0x{code:02X}{f': {words}' if words else ''})"


class Client:
    """A connection. After an error it is closed.

    Args:
        config: Has options.BROKER.
        client_id: Who we are.
        clean: The session begins anew, and ends with the connection.
        expiry: Otherwise it stays for so many seconds, where the broker speaks version 5.
        receive: So many messages with QoS 1 and 2 the broker may send before the first is acknowledged.
        most_bytes: A larger payload is not kept.
        seconds: In the place of request.timeout.
        keep_alive: The broker ends a connection that is silent for longer; 0: it does not.

    Attributes:
        session: The broker had a session of this id.
        window: So many messages may be on their way to the broker.
        most_packet: So large a packet may be for the broker; 0: it has said nothing.

    Raises:
        SystemAway: the broker does not answer, or takes nobody now.
        RetriableError: what answers is no broker.
        PermanentError: it does not take us.
    """

    def __init__(
        self,
        config: Config,
        client_id: str,
        *,
        clean: bool,
        expiry: int = 0,
        receive: int = 100,
        most_bytes: int = 1 << 28,
        seconds: float = 0.0,
        keep_alive: int = KEEP_ALIVE_SECONDS,
    ) -> None:
        self.five = config["version"] == FIVE
        self.place = config["url"]
        self._seconds = seconds or config["request.timeout"]
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._kept: deque[Packet] = deque()
        self._asked_at = 0.0
        self._number = 0
        self._socket = self._connected(config)
        try:
            self._begin(config, client_id, clean, keep_alive, {packets.SESSION_EXPIRY: expiry, packets.RECEIVE_MAXIMUM: receive})
        except BaseException:
            self.end()
            raise

    def send(self, data: bytes) -> None:
        """Sends packets."""
        try:
            self._socket.settimeout(self._seconds)
            sent(self._socket, data)
        except OSError as error:
            self._away(error)

    def next(self, seconds: float) -> Packet | None:
        """The next packet; None: none has come for so long."""
        if self._kept:
            return self._kept.popleft()
        return self._next(seconds)

    def answer(self, *kinds: Kind) -> Packet:
        """The next packet of these kinds. Others are kept for `next`."""
        end = time.monotonic() + self._seconds
        while True:
            left = end - time.monotonic()
            found = self._next(left) if left > 0 else None
            if found is None:
                msg = f"{self.place}: the broker does not answer within {self._seconds:g} s"
                raise SystemAway(msg)
            if found.kind in kinds:
                return found
            self._kept.append(found)

    def subscribe(self, filters: Sequence[str], options: int) -> None:
        """Subscribes; PermanentError where the broker refuses a filter."""
        self.send(packets.subscribe(self.number(), filters, options, five=self.five))
        _, codes, words = packets.read_codes(self.answer(Kind.SUBACK), five=self.five)
        refused = [
            f"{name}: {reason_of(code, words)}" for name, code in zip(filters, codes, strict=False) if code >= packets.FAILED
        ]
        if refused:
            msg = (
                f"{self.place}: the broker refuses to subscribe to {'; '.join(refused)}. Let the user read it, or correct `filters`"
            )
            raise PermanentError(msg)

    def unsubscribe(self, filters: Sequence[str]) -> None:
        """Ends subscriptions."""
        self.send(packets.unsubscribe(self.number(), filters, five=self.five))
        self.answer(Kind.UNSUBACK)

    def ping(self) -> None:
        """Asks whether the broker is there; what comes next is the answer, and `next` misses it."""
        self._asked_at = self._asked_at or time.monotonic()
        self.send(packets.packet(Kind.PINGREQ, b""))

    def number(self) -> int:
        """The next number for a packet."""
        self._number = self._number % 0xFFFF + 1
        return self._number

    def end(self) -> None:
        """Says goodbye, and waits until the broker has read all that was sent: so what was acknowledged does not come again.

        Never raises, and takes some seconds at most.
        """
        end = time.monotonic() + min(self._seconds, _END_SECONDS)
        with suppress(OSError):
            self._socket.settimeout(max(0.1, end - time.monotonic()))
            self._socket.sendall(packets.packet(Kind.DISCONNECT, b""))
            self._socket.shutdown(SHUT_WR)
            while self._socket.recv(_PIECE) and time.monotonic() < end:
                pass
        with suppress(OSError):
            self._socket.close()

    def _connected(self, config: Config) -> Any:
        parts = urlsplit(config["url"])
        host = parts.hostname or ""
        context = None if parts.scheme == "mqtt" else _tls(config)
        try:
            sock = create_connection((host, parts.port or PORTS[parts.scheme]), self._seconds)
        except gaierror as error:
            msg = f"{self.place}: its host is not known: {error}"
            raise SystemAway(msg) from error
        except OSError as error:
            msg = f"{self.place}: the broker does not answer: {error}"
            raise SystemAway(msg) from error
        try:
            sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            return sock if context is None else context.wrap_socket(sock, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            sock.close()
            why = f"the certificate of the broker is not trusted: {error.verify_message}"
            msg = f"{self.place}: {why}. Correct ssl.ca.location or `url`"
            raise PermanentError(msg) from error
        except OSError as error:
            sock.close()
            msg = f"{self.place}: no TLS with the broker: {error}"
            raise SystemAway(msg) from error

    def _begin(self, config: Config, client_id: str, clean: bool, keep_alive: int, wanted: Mapping[int, int]) -> None:
        user, password = config["user"], config["password"] or ""
        flags = clean << 1 | bool(user) << 7 | bool(user and password) << 6
        more = packets.properties({key: value for key, value in wanted.items() if value}) if self.five else b""
        head = packets.text("MQTT") + bytes([5 if self.five else 4, flags]) + keep_alive.to_bytes(2) + more
        who = (
            packets.text(client_id) + (packets.text(user) if user else b"") + (packets.text(password) if user and password else b"")
        )
        self.send(packets.packet(Kind.CONNECT, head + who))
        found = self._next(self._seconds)
        if found is None:
            msg = f"{self.place}: the broker does not answer within {self._seconds:g} s"
            raise SystemAway(msg)
        if found.kind is not Kind.CONNACK:
            self._no_mqtt(Malformed(f"it answers with {found.kind.name}"))
        self.session, code, told = self._read(packets.read_connack, found)
        self.window = told.get(packets.RECEIVE_MAXIMUM, 0xFFFF)
        self.most_packet = told.get(packets.PACKET_MAXIMUM, 0)
        if code:
            self._refused(code, told.get(packets.REASON, ""))

    def _refused(self, code: int, words: str) -> NoReturn:
        away, refused = (_AWAY_FIVE, _REFUSED_FIVE) if code >= packets.FAILED else (_AWAY, _REFUSED)
        why = away.get(code) or refused.get(code) or "the broker refuses us"
        msg = f"{self.place}: {why} (0x{code:02X}{f': {words}' if words else ''})"
        raise SystemAway(msg) if code in away else PermanentError(msg)

    def _read(self, read: Any, found: Packet) -> Any:
        try:
            return read(found, five=self.five)
        except Malformed as error:
            self._no_mqtt(error)

    def message(self, found: Packet) -> packets.Publish:
        """The message of a PUBLISH."""
        read: packets.Publish = self._read(packets.read_publish, found)
        return read

    def answered(self, found: Packet) -> tuple[int, int, str]:
        """See packets.read_answer."""
        read: tuple[int, int, str] = self._read(packets.read_answer, found)
        return read

    def _next(self, seconds: float) -> Packet | None:
        end = time.monotonic() + seconds
        while True:
            try:
                found = self._whole()
            except (Malformed, ValueError) as error:
                self._no_mqtt(error)
            if found is None:
                if not self._fill(max(0.0, end - time.monotonic())):
                    if self._asked_at and time.monotonic() - self._asked_at > self._seconds:
                        msg = f"{self.place}: the broker does not answer within {self._seconds:g} s"
                        raise SystemAway(msg)
                    if time.monotonic() >= end:
                        return None
                continue
            if found.kind is Kind.DISCONNECT and self.five:
                code, words = self._read(packets.read_disconnect, found)
                if code >= packets.FAILED:
                    self._refused(code, words)
                msg = f"{self.place}: the broker has ended the connection"
                raise SystemAway(msg)
            if found.kind is not Kind.PINGRESP:
                return found

    def _whole(self) -> Packet | None:
        """Takes a packet off what has come; None: it is not whole."""
        head = packets.read_size(self._buffer, 1) if len(self._buffer) > 1 else None
        if head is None:
            return None
        size, begin = head
        if not self._buffer[0] >> 4:
            msg = "it sends packets of no kind that there is"
            raise Malformed(msg)
        kind, flags = Kind(self._buffer[0] >> 4), self._buffer[0] & 15
        if kind is Kind.PUBLISH and size > self._most_bytes + _HEAD:
            return self._large(flags, size, begin)
        if len(self._buffer) < begin + size:
            return None
        body = bytes(memoryview(self._buffer)[begin : begin + size])
        del self._buffer[: begin + size]
        return Packet(kind, flags, body)

    def _large(self, flags: int, size: int, begin: int) -> Packet | None:
        """A message that is too large to be kept: its beginning, and what tells the rest."""
        if len(self._buffer) < begin + _HEAD:
            return None
        body = bytes(memoryview(self._buffer)[begin : begin + _HEAD])
        del self._buffer[: begin + _HEAD]
        first = self.message(Packet(Kind.PUBLISH, flags, body)).payload
        digest, left = sha256(first), size - _HEAD
        end = time.monotonic() + self._seconds
        while left:
            if not self._buffer and self._fill(self._seconds):
                end = time.monotonic() + self._seconds
            if time.monotonic() > end:
                msg = f"{self.place}: the broker stops in the middle of a message"
                raise SystemAway(msg)
            piece = bytes(self._buffer[:left])
            del self._buffer[: len(piece)]
            digest.update(piece)
            left -= len(piece)
        return Packet(Kind.PUBLISH, flags, body, (len(first) + size - _HEAD, digest.hexdigest()))

    def _fill(self, seconds: float) -> bool:
        """Reads what has come, waiting for something so long; whether there was anything."""
        try:
            self._socket.settimeout(seconds)
            came = self._socket.recv(_PIECE)
        except (BlockingIOError, TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError as error:
            self._away(error)
        if not came:
            msg = f"{self.place}: the broker has ended the connection"
            raise SystemAway(msg)
        self._asked_at = 0.0
        self._buffer += came
        return True

    def _away(self, error: Exception) -> NoReturn:
        msg = f"{self.place}: the connection to the broker has failed: {error}"
        raise SystemAway(msg) from error

    def _no_mqtt(self, error: Exception) -> NoReturn:
        msg = f"{self.place}: what answers there is no broker of MQTT: {error}"
        raise RetriableError(msg) from error


def sent(connection: Any, data: bytes) -> None:
    """Sends all of it."""
    connection.sendall(data)


def _tls(config: Config) -> ssl.SSLContext:
    """What TLS needs. Raises PermanentError."""
    files = [config[key] for key in ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")]
    authority, certificate, key = files
    try:
        for path in filter(None, files):
            reading().check(path)
        context = ssl.create_default_context(cafile=authority or None)
        if certificate:
            # An empty password: none is asked for at a terminal.
            context.load_cert_chain(certificate, key, config["ssl.key.password"] or "")
    except (OSError, ValueError) as error:
        msg = f"the certificates can't be read ({', '.join(filter(None, files))}): {error}. Correct the files, or ssl.key.password"
        raise PermanentError(msg) from error
    return context


@preflight(away=("url", "Start the broker, or correct the URL."))
def broker_answers(config: Config) -> Iterable[Problem]:
    """Connects."""
    Client(config, f"rocketconnect-check-{uuid4().hex[:8]}", clean=True, seconds=CHECK_SECONDS).end()
    return ()

"""The two remote calls of the launcher: which brokers a name server knows, and a broker's registration there."""

import json
import socket
import struct

_UPDATE_BROKER_CONFIG = 25
_GET_BROKER_CLUSTER_INFO = 106
_MAX_ANSWER_BYTES = 1024 * 1024


def knows_broker(name_server_port: int, broker_port: int, timeout_seconds: float) -> bool:
    """Return whether the name server on this port of 127.0.0.1 answers and knows the broker on that one."""
    return f'"127.0.0.1:{broker_port}"'.encode() in _call(name_server_port, _GET_BROKER_CLUSTER_INFO, b"", timeout_seconds)


def listens(port: int, timeout_seconds: float) -> bool:
    """Return whether something accepts connections on this port of 127.0.0.1."""
    return answers(f"127.0.0.1:{port}", timeout_seconds)


def answers(address: str, timeout_seconds: float) -> bool:
    """Return whether something accepts connections at this host:port; what is no such address answers nothing."""
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout_seconds).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def ask_to_register(broker_port: int, timeout_seconds: float) -> None:
    """Have the broker register with its name server now; nothing happens when it does not answer."""
    # A broker registers when it is told its permission (6: read and write, as it has), and at no other request.
    _call(broker_port, _UPDATE_BROKER_CONFIG, b"brokerPermission=6\n", timeout_seconds)


def _call(port: int, code: int, body: bytes, timeout_seconds: float) -> bytes:
    """Return the answer, header and body as they are; nothing when there is none in time."""
    header = json.dumps({"code": code, "flag": 0, "language": "OTHER", "opaque": 1, "version": 0}).encode()
    frame = struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_seconds) as connection:
            connection.sendall(frame)
            with connection.makefile("rb") as stream:
                (length,) = struct.unpack(">i", stream.read(4))
                return stream.read(length) if 0 <= length <= _MAX_ANSWER_BYTES else b""
    except (OSError, struct.error):
        # Not there yet, or ended in the middle: whoever asks decides how long to go on.
        return b""

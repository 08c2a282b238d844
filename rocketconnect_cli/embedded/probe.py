"""Asks a name server which brokers it knows: the one call that the launcher needs."""

import json
import socket
import struct

_GET_BROKER_CLUSTER_INFO = 106
_MAX_ANSWER_BYTES = 1024 * 1024


def knows_broker(name_server_port: int, broker_port: int, timeout_seconds: float) -> bool:
    """Return whether the name server on this port of 127.0.0.1 answers, knows the broker, and the broker listens."""
    try:
        answer = _cluster_info(name_server_port, timeout_seconds)
        if f'"127.0.0.1:{broker_port}"'.encode() not in answer:
            return False
        socket.create_connection(("127.0.0.1", broker_port), timeout=timeout_seconds).close()
    except (OSError, EOFError):
        # Not there yet: whoever asks decides how long to go on.
        return False
    return True


def _cluster_info(port: int, timeout_seconds: float) -> bytes:
    header = json.dumps({"code": _GET_BROKER_CLUSTER_INFO, "flag": 0, "language": "OTHER", "opaque": 1, "version": 0})
    encoded = header.encode()
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_seconds) as connection:
        connection.sendall(struct.pack(">ii", 4 + len(encoded), len(encoded)) + encoded)
        with connection.makefile("rb") as stream:
            (length,) = struct.unpack(">i", _exactly(stream.read(4), 4))
            if not 0 <= length <= _MAX_ANSWER_BYTES:
                raise EOFError
            return _exactly(stream.read(length), length)


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise EOFError
    return data

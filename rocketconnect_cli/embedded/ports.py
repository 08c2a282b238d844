"""Chooses TCP ports that stay usable: below the range from which the kernel takes the ports of outgoing connections."""

import random
import socket
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from rocketconnect_cli.embedded.errors import PortInUse

NAME_SERVER_OFFSETS = (0,)
# A broker also listens on its port + 1 (replication) and its port - 2 (past the queue of long requests).
BROKER_OFFSETS = (0, 1, -2)

_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 15000
_EPHEMERAL_DEFAULT = 32768
_ATTEMPTS = 500
# The processes of an owner that was killed a moment ago may still be dying on their ports.
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.1


def settle(what: str, wanted: int, kept: int, offsets: Sequence[int], promised: Collection[int] = ()) -> int:
    """Return the port for `what`: the wanted one, else the kept one, else (or when that is taken) a free one.

    0 stands for none. Raises PortInUse when the wanted one is taken. Promised ports are those of others that do not listen yet.
    """
    preferred = wanted or kept
    if preferred and not _meets(preferred, offsets, promised) and _becomes_free(preferred, offsets):
        return preferred
    if wanted:
        needed = [wanted + offset for offset in offsets]
        taken = ", ".join(str(port) for port in needed if port in promised or not is_free(port))
        message = f"{what}: port {taken} is in use: stop what listens there, or choose another port (0: any free one)"
        raise PortInUse(message)
    return choose(offsets, promised)


def choose(offsets: Sequence[int] = (0,), promised: Collection[int] = ()) -> int:
    """Return a port P for which every P + offset is free now, and not promised to others.

    The choice is random, so that instances that choose at the same moment hardly ever choose the same.
    """
    pick = random.SystemRandom()
    ceiling = _ephemeral_start()
    for _ in range(_ATTEMPTS):
        port = pick.randrange(_LOWEST - min(offsets), ceiling - max(offsets))
        if not _meets(port, offsets, promised) and _all_free(port, offsets):
            return port
    message = f"no free port was found between {_LOWEST} and {ceiling} in {_ATTEMPTS} attempts"
    raise PortInUse(message)


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port of all interfaces now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java does it: connections in TIME_WAIT do not hold a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except (OSError, OverflowError):
            return False
    return True


def _meets(port: int, offsets: Sequence[int], promised: Collection[int]) -> bool:
    return any(port + offset in promised for offset in offsets)


def _all_free(port: int, offsets: Sequence[int]) -> bool:
    return all(is_free(port + offset) for offset in offsets)


def _becomes_free(port: int, offsets: Sequence[int]) -> bool:
    deadline = time.monotonic() + _GRACE_SECONDS
    while not _all_free(port, offsets):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _ephemeral_start() -> int:
    try:
        start = int(_EPHEMERAL_RANGE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        # Not Linux, or hidden from us.
        return _EPHEMERAL_DEFAULT
    # A site may have widened the range to nearly everything; then there is nothing below it to choose from.
    return start if start > _LOWEST + 1000 else _EPHEMERAL_DEFAULT

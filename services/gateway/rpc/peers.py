"""Who is behind each connection that the gateway has passed on to its own gRPC server."""

from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
"""From where the gateway passes bytes on, and where its gRPC server listens."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A client.

    Attributes:
        address: Where it called from, without the port.
        certificate: The name in the certificate that it has shown, which was verified; "": it has shown none.
    """

    address: str
    certificate: str


class Peers:
    """Clients by the port from which the gateway passes their bytes on. For one event loop.

    The port is bound for as long as it is known here, so nobody else on this machine can call from it. Of another address of this
    machine anybody can, with the same number.
    """

    def __init__(self) -> None:
        self._by_port: dict[int, Peer] = {}

    def add(self, port: int, peer: Peer) -> None:
        """From now on this one calls from a port."""
        self._by_port[port] = peer

    def remove(self, port: int) -> None:
        """Nobody calls from it any more; before it is given back."""
        self._by_port.pop(port, None)

    def of(self, peer: str) -> Peer | None:
        """Return who makes a call; None: it has not come through the gateway's port.

        Args:
            peer: As gRPC says it: "ipv4:127.0.0.1:51234".
        """
        address, _, port = peer.rpartition(":")
        return self._by_port.get(int(port)) if address == f"ipv4:{LOOPBACK}" and port.isdecimal() else None

"""The gRPC server behind the gateway's port: it listens on this machine alone, and answers nobody who did not come through that."""

import asyncio
import resource

from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2_grpc

from rocketconnect_kit.access.tokens import Tokens
from rocketconnect_kit.serving.server import CallLimits, make_server
from rocketconnect_kit.settings import paths
from services.gateway import executors
from services.gateway.api.rules import rules
from services.gateway.backends import Backends, service_of
from services.gateway.opening import Opening
from services.gateway.rpc.calls import Calls
from services.gateway.rpc.door import Door
from services.gateway.rpc.health import Health
from services.gateway.rpc.peers import LOOPBACK, Peer, Peers
from services.gateway.rpc.splice import Splices
from services.gateway.settings import GatewaySettings

_MOST_CONNECTIONS = 1000
_FILES_EACH = 6
"""Each connection takes three files, and half of all are for others."""


class Rpc:
    """What answers gRPC. For one event loop.

    Args:
        settings: Limits, and the files of callers.
        backends: The services.
        opening: Whether this gateway answers yet.
        traced: Calls are told to a collector of traces.
    """

    def __init__(self, settings: GatewaySettings, backends: Backends, opening: Opening, *, traced: bool = False) -> None:
        self._settings = settings
        self._limits = CallLimits(settings.call_seconds)
        self._peers = Peers()
        door = Door(Tokens(paths(settings.tokens_files)) if settings.tokens_files else None, self._peers)
        options = [("grpc.max_concurrent_streams", settings.calls_per_connection)]
        self._server = make_server(self._limits, traced=traced, gates=[door], options=options)
        self._server.add_generic_rpc_handlers(tuple(Calls(backends, opening, self._peers).handlers()))
        answered_by = {rule.method.containing_service.full_name: _asked(service_of(rule.method)) for rule in rules()}
        health_pb2_grpc.add_HealthServicer_to_server(Health(backends.health, answered_by), self._server)
        if settings.reflects:
            from grpc_reflection.v1alpha import reflection

            names = (*answered_by, grpc_health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        self._splices: Splices | None = None

    async def start(self) -> None:
        """Answer. Raises RuntimeError: it can't listen."""
        port = self._server.add_insecure_port(f"{LOOPBACK}:0")
        await self._server.start()
        self._splices = Splices(port, self._peers, _most(self._settings))

    def take(self, transport: asyncio.Transport, begun: bytes, certificate: str) -> None:
        """Answer on a connection, of which this much was read; `certificate`: the name in that of the client."""
        if self._splices is None:
            transport.abort()
            return
        peer = transport.get_extra_info("peername")
        self._splices.take(transport, begun, Peer(str(peer[0]) if peer else "", certificate))

    def end_watches(self) -> None:
        """End all streams with UNAVAILABLE, so that their callers connect again; later ones are refused."""
        self._limits.end_streams()

    async def stop(self, seconds: float) -> None:
        """Take no further calls, give running ones so long, and cut what is left."""
        await self._server.stop(seconds)
        if self._splices is not None:
            await self._splices.close()


def _asked(service: str) -> tuple[str, ...]:
    """Who has to be well for it: what executors answer needs the service that knows them, and what the gateway answers nobody."""
    if service == "access":
        return ()
    return ("cluster",) if service in (*executors.PACKAGES, "logging") else (service,)


def _most(settings: GatewaySettings) -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    usual = _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, max(1, files // _FILES_EACH))
    return settings.connections or usual

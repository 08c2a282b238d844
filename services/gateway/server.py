"""Puts the gateway together and runs it until a signal."""

import asyncio
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import cast

import uvicorn

from rocketconnect_kit import logs, metrics, tracing
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.serving import resources
from rocketconnect_kit.serving.scrapes import Guard
from rocketconnect_kit.serving.server import announce
from rocketconnect_kit.settings import paths
from services.gateway import health, pages
from services.gateway.access import Access
from services.gateway.api import routes as v1
from services.gateway.app import Gateway
from services.gateway.backends import Backends
from services.gateway.callers import Callers
from services.gateway.compat import routes as compat
from services.gateway.compat.connectors import Connectors
from services.gateway.connections import Connection
from services.gateway.console import routes as console
from services.gateway.kafka_connect import routes as kafka_connect
from services.gateway.opening import Opening
from services.gateway.routing import RouteTable
from services.gateway.rpc.preface import AGREED
from services.gateway.rpc.server import Rpc
from services.gateway.settings import GatewaySettings, listed

_log = logs.get_logger(__name__)
_UNWELL_SECONDS = 3.0


async def run(settings: GatewaySettings) -> int:
    """Serve until a signal; return the exit code for the process.

    The first SIGTERM or SIGINT drains: no new connections, watches end, running requests get `settings.drain_seconds`; code 0.
    A second one ends at once with 128 + its number. A port that is taken is logged with what to do; code 1.
    """
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, int(number))
    backends = Backends(settings, read_seconds=settings.read_seconds, write_seconds=settings.call_seconds, mask=settings.mask)
    try:
        end_tracing = tracing.start("gateway")
        listener = _listen(settings.host, settings.port)
        resources.show(settings)
        unwell = partial(_unwell, loop, backends)
        endpoint = metrics.start_endpoint(settings.host, settings.metrics_port, unwell, Guard.of(settings))
    except (OSError, ServiceError) as error:
        _log.error("can't start", cause=str(error), host=settings.host, port=settings.port)
        await backends.close()
        return 1
    try:
        opens = opening(settings, backends)
        rpc = Rpc(settings, backends, opens, traced=end_tracing is not None)
        await rpc.start()
        server = _Server(_configuration(gateway(settings, backends, opens), settings, rpc))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        address = _address(listener)
        announce(settings.announce_fd, "gateway", address, endpoint.address)
        _log.info("serving", address=address, metrics=endpoint.address)
        code = await _until_signal(server, serving, backends, rpc, signals, settings.drain_seconds)
    finally:
        await backends.close()
        endpoint.close()
        if end_tracing is not None:
            end_tracing()
    _log.info("stopped")
    return code


def _unwell(loop: asyncio.AbstractEventLoop, backends: Backends) -> str:
    """Which services are not well; empty: none. Asked on another thread."""
    asked = asyncio.run_coroutine_threadsafe(backends.health(), loop)
    try:
        said = asked.result(_UNWELL_SECONDS)
    except TimeoutError:
        asked.cancel()
        return f"the gateway has not answered in {_UNWELL_SECONDS:g} s"
    return "; ".join(f"{service}: {state}" for service, state in said.items() if state != "SERVING")


def opening(settings: GatewaySettings, backends: Backends) -> Opening:
    """Return what knows whether this gateway answers yet."""
    return Opening(backends, waits=settings.await_executor)


def gateway(settings: GatewaySettings, backends: Backends, opens: Opening) -> Gateway:
    """Return the application with all its routes."""
    originals = list(compat.routes(Connectors(backends), status=settings.compat_status, changing_gets=settings.changes_by_get))
    kafkas = list(kafka_connect.routes(backends))
    faces = [*v1.routes(backends), *health.routes(backends), *originals, *kafkas]
    table = RouteTable([*faces, *pages.routes(originals, kafkas), *console.routes()])
    access = Access(settings.host, listed(settings.allowed_hosts), listed(settings.allowed_origins))
    return Gateway(table, access, opens, Callers(paths(settings.tokens_files)))


class _Server(uvicorn.Server):
    """Leaves the signals to us: uvicorn would raise them again after its end, and the exit code would not be ours."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Take no more connections, and end when the running requests have."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """Keep the date of the answers until the end; uvicorn would look ten times a second whether that has come."""
        # A tick stands for a tenth of a second, and the date is made at each tenth one.
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._ending.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def _until_signal(
    server: _Server,
    serving: "asyncio.Task[None]",
    backends: Backends,
    rpc: Rpc,
    signals: "asyncio.Queue[int]",
    seconds: float,
) -> int:
    await signals.get()
    _log.info("draining", seconds=seconds)
    server.end()
    # Before those behind it end, which would look like the end of what is watched.
    rpc.end_watches()
    backends.end_watches()

    async def drain() -> None:
        await asyncio.gather(serving, rpc.stop(seconds))

    ended = asyncio.create_task(drain())
    second = asyncio.create_task(signals.get())
    await asyncio.wait([ended, second], return_when=asyncio.FIRST_COMPLETED)
    if second.done():
        _log.warning("second signal: ending at once")
        server.force_exit = True
        ended.cancel()
        await asyncio.wait([serving, ended])
        await rpc.stop(0)
        return 128 + second.result()
    second.cancel()
    await ended
    return 0


def _configuration(app: Gateway, settings: GatewaySettings, rpc: Rpc) -> uvicorn.Config:
    verify = settings.tls_ca is not None and settings.tls_verify_clients
    configuration = uvicorn.Config(
        app,
        # Called as the class would be.
        http=cast("type[Connection]", partial(Connection, takes_over=rpc.take)),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
        ssl_certfile=settings.rest_tls_cert or settings.tls_cert,
        ssl_keyfile=settings.rest_tls_key or settings.tls_key,
        ssl_ca_certs=str(settings.tls_ca) if verify else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if verify else ssl.CERT_NONE,
    )
    configuration.load()
    if configuration.ssl is not None:
        configuration.ssl.set_alpn_protocols(AGREED)
    return configuration


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=256)
        # An answer goes out in two writes, its head and its body. Otherwise the second waits until the client has acknowledged the
        # first, which it does after 40 ms. asyncio leaves it to whoever made the listening socket; accepted ones inherit it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        advice = "is the port in use? choose another --port, or 0 for a free one"
        msg = f"can't listen on {host}:{port}: {error.strerror or error}; {advice}"
        raise OSError(msg) from error
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

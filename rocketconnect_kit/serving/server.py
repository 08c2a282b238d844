"""Runs a gRPC server as every service runs: health, reflection, errors, deadlines, metrics, TLS, announcement, drain."""

import asyncio
import json
import os
import resource
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.logging.v1.logging_service_pb2_grpc import add_LoggingServiceServicer_to_server

from rocketconnect_kit import logs, metrics, tracing
from rocketconnect_kit.access.gate import Gate
from rocketconnect_kit.access.tokens import Tokens
from rocketconnect_kit.calls.channel import full_name
from rocketconnect_kit.errors import DeadlineExceeded, ReplicaUnavailable, ServiceError
from rocketconnect_kit.leader.election import Election, Listener
from rocketconnect_kit.leader.leader_only import LeaderOnly
from rocketconnect_kit.serving import resources
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext
from rocketconnect_kit.serving.levels import Levels, LoggingService
from rocketconnect_kit.serving.scrapes import Guard
from rocketconnect_kit.serving.status import ServiceErrorInterceptor
from rocketconnect_kit.settings import ServiceSettings, paths

Check = Callable[[], Awaitable[None]]
"""A dependency check: returns when the dependency answers, raises when it does not."""

HEALTH_SECONDS = 2.0
"""How often dependencies are checked, and how long a check may take."""

# A round takes two of these when a dependency says nothing.
_SILENT_ROUNDS = 5
_SERVING, _NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING

_log = logs.get_logger(__name__)
_OPTIONS: list[tuple[str, Any]] = [
    # A port in use must be an error, not a second server that gets every other connection.
    ("grpc.so_reuseport", 0),
    # Clients ping every second (see channel.py), which is to be no reason to hang up on them.
    ("grpc.http2.min_ping_interval_without_data_ms", 500),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    # Who connects and says nothing takes the place of somebody for no longer.
    ("grpc.server_handshake_timeout_ms", 5_000),
]
_MOST_CONNECTIONS = 1000


async def serve(
    service_name: str,
    add: Callable[[grpc.aio.Server], None],
    settings: ServiceSettings,
    *,
    health: Mapping[str, Check] | None = None,
    on_start: Sequence[Callable[[str], None]] = (),
    on_drain: Sequence[Callable[[], Awaitable[None]]] = (),
    on_stop: Sequence[Callable[[], Awaitable[None]]] = (),
    election: Election | None = None,
    signed_for: Callable[[str], str] = lambda _address: "",
    log_levels: LoggingService | None = None,
) -> int:
    """Serve until a signal; return the exit code for the process.

    Two healths: that of the server ("") is that of what it needs; that of its gRPC service is whether this replica takes calls:
    not while it drains or another one leads. Clients choose by the second one.

    The first SIGTERM or SIGINT drains: health says NOT_SERVING, watches end (their callers reconnect elsewhere), running calls
    get `settings.drain_seconds` while `on_drain` runs, then `on_stop` runs, and the code is 0. A second signal ends at once with
    128 + its number.
    A port that is taken, or a setting that can't be used, is logged with what to do, and the code is 1; so it is when the election
    has ended with an error.

    Args:
        service_name: such as "config"; the gRPC service is rocketconnect.config.v1.ConfigService.
        add: registers the service with the server, such as `lambda s: add_ConfigServiceServicer_to_server(service, s)`.
        settings: where to listen, TLS, logs.
        health: checks of what the service needs.
        on_start: called in this order with "host:port" when the server takes calls.
        on_drain: run at once, while running calls end; they have as long.
        on_stop: run in this order after the server has stopped; a second signal ends these, too.
        election: the part that this replica takes in it while it serves; calls are answered only while it leads.
        log_levels: answers for the levels of the process; None: they concern nobody else.
        signed_for: returns where a server that listens at "host:port" is called by services that sign; "": it takes no such calls.
    """
    logs.configure(service_name, settings.log_level, settings.log_format)
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, int(number))
    try:
        end_tracing = tracing.start(service_name)
        limits = CallLimits(settings.call_seconds)
        gate = Gate(Tokens(paths(settings.tokens_files)) if settings.tokens_files else None)
        gates: list[AroundCalls] = [gate]
        gates += [LeaderOnly(service_name, election)] if election is not None else []
        server = make_server(limits, traced=end_tracing is not None, gates=gates, options=_bounds(settings))
        for register in (add, partial(add_LoggingServiceServicer_to_server, log_levels or LoggingService(service_name, Levels()))):
            register(server)
        port = _listen(server, settings)
        address = f"{settings.host}:{port}"
        gate.address = signed_for(address)
        resources.show(settings)
        looks = _Looks()
        endpoint = metrics.start_endpoint(settings.host, settings.metrics_port, looks.unwell, Guard.of(settings))
    except (OSError, RuntimeError, ServiceError) as error:
        _log.error("can't start", cause=str(error), host=settings.host, port=settings.port)
        return 1
    name = full_name(service_name)
    servicer = grpc_health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    if settings.reflects:
        from grpc_reflection.v1alpha import reflection

        reflection.enable_server_reflection((name, grpc_health.SERVICE_NAME, reflection.SERVICE_NAME), server)

    async def takes_calls(does: bool) -> None:
        metrics.show_leading(does)
        await servicer.set(name, _SERVING if does else _NOT_SERVING)

    try:
        async with _checking(servicer, health or {}, looks), _taking_part(election, takes_calls) as elected:
            await server.start()
            for start in on_start:
                start(address)
            announce(settings.announce_fd, service_name, address, endpoint.address)
            _log.info("serving", address=address, metrics=endpoint.address)
            await _first(asyncio.create_task(signals.get()), elected)
            _log.info("draining", seconds=settings.drain_seconds)
            await servicer.enter_graceful_shutdown()
            code = await _stop(server, limits, settings.drain_seconds, on_drain, on_stop, signals)
    except ServiceError as error:
        _log.error("ending", cause=error.message, reason=error.reason)
        await server.stop(0)
        code = 1
    finally:
        endpoint.close()
        if end_tracing is not None:
            end_tracing()
    _log.info("stopped")
    return code


@asynccontextmanager
async def _taking_part(election: Election | None, listener: Listener) -> AsyncIterator["asyncio.Task[None] | None"]:
    await listener(election is None)
    if election is None:
        yield None
        return
    election.listen(listener)
    async with election.running() as elected:
        yield elected


async def _first(signal_task: "asyncio.Task[int]", elected: "asyncio.Task[None] | None") -> None:
    """Wait for a signal, or for the error with which the election ends."""
    try:
        await asyncio.wait([signal_task, *([elected] if elected is not None else [])], return_when=asyncio.FIRST_COMPLETED)
        if elected is not None and elected.done():
            elected.result()
    finally:
        signal_task.cancel()


def run(service_name: str, settings: ServiceSettings, main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a service's `main` in a new event loop; return its exit code, or 1 with a log line when it can't start."""
    logs.configure(service_name, settings.log_level, settings.log_format)
    try:
        return asyncio.run(main())
    except ServiceError as error:
        _log.error("can't start", cause=error.message, reason=error.reason)
        return 1
    except KeyboardInterrupt:
        # Only before `serve` has taken the signals over.
        return 128 + signal.SIGINT


def make_server(
    limits: "CallLimits",
    *,
    traced: bool = False,
    gates: Sequence[AroundCalls] = (),
    options: Sequence[tuple[str, Any]] = (),
) -> grpc.aio.Server:
    """Return a server with the interceptors and options that all services have, and these, listening nowhere yet."""
    interceptors: list[grpc.aio.ServerInterceptor] = [metrics.MetricsInterceptor()]
    if traced:
        interceptors.append(tracing.TracingInterceptor())
    interceptors += [ServiceErrorInterceptor(), limits, *gates]
    return grpc.aio.server(interceptors=interceptors, options=[*_OPTIONS, *options])


def _bounds(settings: ServiceSettings) -> list[tuple[str, Any]]:
    """How many connections there may be, so that files, stores and other services can still be opened, and calls on each."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    usual = _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, max(1, files // 2))
    return [
        ("grpc.max_allowed_incoming_connections", settings.connections or usual),
        ("grpc.max_concurrent_streams", settings.calls_per_connection),
    ]


class CallLimits(AroundCalls):
    """Invariant 8: gives calls without a deadline one, and ends the endless ones (watches) when the server drains."""

    def __init__(self, call_seconds: float) -> None:
        self._call_seconds = call_seconds
        self._streams: set[asyncio.Task[Any]] = set()
        self._draining = asyncio.Event()

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:
        """Bound one call."""
        if streaming:
            async with self._stream():
                yield
        elif context.time_remaining() is None:
            try:
                async with asyncio.timeout(self._call_seconds):
                    yield
            except TimeoutError as error:
                message = f"{method} did not end in {self._call_seconds:g} s, the limit for calls without a deadline"
                raise DeadlineExceeded("CALL_TIMEOUT", message) from error
        else:
            yield

    def end_streams(self) -> None:
        """End all streams with UNAVAILABLE, so that their callers reconnect; later ones are refused."""
        self._draining.set()
        for task in self._streams:
            task.cancel()

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        if task is None or self._draining.is_set():
            raise _draining()
        self._streams.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if self._draining.is_set():
                task.uncancel()
                raise _draining() from None
            raise
        finally:
            self._streams.discard(task)


def _draining() -> ReplicaUnavailable:
    return ReplicaUnavailable("DRAINING", "the service is stopping; connect again")


def server_credentials(settings: ServiceSettings) -> grpc.ServerCredentials | None:
    """Return the credentials that the settings name; None for plain text."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    pair = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
    root = settings.tls_ca.read_bytes() if settings.tls_ca is not None else None
    return grpc.ssl_server_credentials([pair], root, root is not None and settings.tls_verify_clients)


def _listen(server: grpc.aio.Server, settings: ServiceSettings) -> int:
    address = f"{settings.host}:{settings.port}"
    credentials = server_credentials(settings)
    try:
        port = server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
    except RuntimeError as error:
        msg = f"can't listen on {address}: {error}; is the port in use? choose another --port, or 0 for a free one"
        raise RuntimeError(msg) from error
    return port


def announce(descriptor: int | None, service: str, address: str, metrics_address: str) -> None:
    """Write one line of JSON with the addresses to this file descriptor and close it; with None do nothing."""
    if descriptor is None:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
        pipe.write(json.dumps({"service": service, "address": address, "metrics": metrics_address}) + "\n")


async def _stop(
    server: grpc.aio.Server,
    limits: CallLimits,
    seconds: float,
    on_drain: Sequence[Callable[[], Awaitable[None]]],
    on_stop: Sequence[Callable[[], Awaitable[None]]],
    signals: "asyncio.Queue[int]",
) -> int:
    async def drain() -> None:
        limits.end_streams()
        await asyncio.gather(server.stop(seconds), *(begin() for begin in on_drain))
        for stop in on_stop:
            await stop()

    drained = asyncio.create_task(drain())
    second = asyncio.create_task(signals.get())
    await asyncio.wait([drained, second], return_when=asyncio.FIRST_COMPLETED)
    if not drained.done():
        _log.warning("second signal: ending at once")
        drained.cancel()
        await asyncio.wait([drained])
        await server.stop(0)
        return 128 + second.result()
    second.cancel()
    await drained
    return 0


class _Looks:
    """What the last round of checks has found. Read on other threads."""

    def __init__(self) -> None:
        self.failing: Mapping[str, str] = {"service": "is starting"}
        self.at = time.monotonic()

    def unwell(self) -> str:
        """Why the service can't do its work; empty: it can."""
        silent = time.monotonic() - self.at
        if silent > _SILENT_ROUNDS * HEALTH_SECONDS:
            return f"the process has looked after itself last {silent:.0f} s ago: it hangs, or has too little of a processor"
        return "; ".join(f"{name}: {cause}" for name, cause in self.failing.items())


@asynccontextmanager
async def _checking(servicer: grpc_health.aio.HealthServicer, checks: Mapping[str, Check], looks: _Looks) -> AsyncIterator[None]:
    """Keep the health of the server true to the checks for as long as the block runs; the first round is done before it."""
    failing: dict[str, str] = {}

    async def one_round() -> None:
        for name, result in zip(checks, await asyncio.gather(*(_passes(check) for check in checks.values())), strict=True):
            metrics.HEALTHY.labels(name).set(result is None)
            if result is None:
                if failing.pop(name, None) is not None:
                    _log.info("dependency answers again", dependency=name)
            elif name not in failing:
                failing[name] = result
                _log.warning("dependency does not answer", dependency=name, cause=result)
        looks.failing, looks.at = dict(failing), time.monotonic()
        await servicer.set("", _NOT_SERVING if failing else _SERVING)

    async def rounds() -> None:
        while True:
            await asyncio.sleep(HEALTH_SECONDS)
            await one_round()

    await one_round()
    task = asyncio.create_task(rounds(), name="health")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _passes(check: Check) -> str | None:
    try:
        async with asyncio.timeout(HEALTH_SECONDS):
            await check()
    except TimeoutError:
        return f"no answer in {HEALTH_SECONDS:g} s"
    except Exception as error:
        return logs.hide_url_passwords(str(error)) or type(error).__name__
    return None

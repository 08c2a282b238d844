"""Channels to other services: deadlines, keepalive, a bounded retry of what no service answered, TLS as the settings say."""

import json
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from rocketconnect_kit import tracing
from rocketconnect_kit.access.asking import ASKED_BY
from rocketconnect_kit.access.signing import Signer
from rocketconnect_kit.access.tokens import AUTHORIZATION, OwnToken
from rocketconnect_kit.settings import ServiceSettings, parse_addresses

DEADLINE_SECONDS = 5.0
"""The deadline of a call that was given none."""

# AIP-194: only UNAVAILABLE is repeated by itself; and CANCELLED, which is what a server that drains answers to a call that it had
# taken and not begun (who cancels a call himself ends its attempts, too). Five attempts is the most that gRPC makes; with these
# delays they span about three and a half seconds, in which another replica leads; the deadline of the call ends them sooner.
_SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.15s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2.5,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
            },
        }
    ],
}
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.keepalive_timeout_ms", 2_000),
    # Only one ping is under way at a time, and gRPC sends others than those of keepalive: it waits a minute for their answers.
    ("grpc.http2.ping_timeout_ms", 2_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    # Who was cut off is back within a second or so of the mending: nobody waits long for a service that is there again.
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Replicas that were started again elsewhere are found under their name soon.
    ("grpc.dns_min_time_between_resolutions_ms", 2_000),
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    # Processes on one machine must not share a connection object: one that is stuck would hold up the others.
    ("grpc.use_local_subchannel_pool", 1),
]

_PING_MS = 1_000
"""A replica that hangs (stopped, its machine gone, a network cut) is left within three seconds, well within a worker's lease."""
_PING_NEIGHBOUR_MS = 10_000
"""On one machine no network is cut, and there is no replica to turn to: pings would be most of what a process at rest costs."""


_Shows = Callable[[str, Any], tuple[tuple[str, str], ...]]
"""Of a method and the metadata of its call: what is added to these to say who calls."""


def channel(
    address: str, settings: ServiceSettings, *, service: str = "", retry: bool = True, signed: bool = False
) -> grpc.aio.Channel:
    """Return a channel to "host:port" or "ip:port,ip:port" (replicas, in turn). It connects when it is first used.

    Unary calls without a timeout get 5 s. Close it with `await channel.close()`.

    Args:
        address: "host:port", where the host may have several addresses, or "ip:port,ip:port".
        settings: TLS.
        service: such as "cluster": only replicas that say that they take its calls (health) get any.
        retry: False: a call is tried once, for callers that have another address to try.
        signed: Whoever listens there is not to be shown the own token, but a signature that counts there alone: an executor.

    Raises:
        ValueError: when the address is wrong or empty.
    """
    own = OwnToken(settings.token_file)
    shows = _signing(Signer(own, address)) if signed else _showing(own)
    interceptors: list[grpc.aio.ClientInterceptor] = [_DeadlineInterceptor(shows), _TokenInterceptor(shows)]
    options = [*_options(address, service), ("grpc.enable_retries", int(retry))]
    credentials = client_credentials(settings)
    if credentials is None:
        return grpc.aio.insecure_channel(target(address), options=options, interceptors=interceptors)
    return grpc.aio.secure_channel(target(address), credentials, options=options, interceptors=interceptors)


def sync_channel(address: str, settings: ServiceSettings, *, service: str = "") -> grpc.Channel:
    """Return the blocking form of `channel`, for threads; close it with `channel.close()`."""
    credentials = client_credentials(settings)
    options = _options(address, service)
    if credentials is None:
        plain = grpc.insecure_channel(target(address), options=options)
    else:
        plain = grpc.secure_channel(target(address), credentials, options=options)
    return grpc.intercept_channel(plain, _SyncDeadlineInterceptor(_showing(OwnToken(settings.token_file))))


def full_name(service: str) -> str:
    """Return the name of the gRPC service of a service, under which it also tells its health: "cluster"."""
    return f"rocketconnect.{service}.v1.{service.title()}Service"


def client_credentials(settings: ServiceSettings) -> grpc.ChannelCredentials | None:
    """Return the credentials that the settings name; None for plain text."""
    if settings.tls_ca is None and settings.tls_cert is None:
        return None
    read = {
        name: path.read_bytes() if path is not None else None
        for name, path in (("ca", settings.tls_ca), ("key", settings.tls_key), ("cert", settings.tls_cert))
    }
    return grpc.ssl_channel_credentials(read["ca"], read["key"], read["cert"])


def target(address: str) -> str:
    """Return gRPC's name for an address or a list of them."""
    pairs = parse_addresses(address)
    if not pairs:
        msg = "the address of a service is empty; write host:port"
        raise ValueError(msg)
    if len(pairs) == 1:
        host, port = pairs[0]
        return f"dns:///[{host}]:{port}" if ":" in host else f"dns:///{host}:{port}"
    return "ipv4:" + ",".join(f"{host}:{port}" for host, port in pairs)


def _options(address: str, service: str) -> list[tuple[str, Any]]:
    health = {"healthCheckConfig": {"serviceName": full_name(service)}} if service else {}
    is_neighbour = [host for host, _port in parse_addresses(address)] in (["127.0.0.1"], ["::1"])
    ping = ("grpc.keepalive_time_ms", _PING_NEIGHBOUR_MS if is_neighbour else _PING_MS)
    return [*_OPTIONS, ping, ("grpc.service_config", json.dumps(_SERVICE_CONFIG | health))]


class _DeadlineInterceptor(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, shows: _Shows) -> None:
        self._shows = shows

    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        details = client_call_details
        given = tuple(details.metadata or ())
        metadata = grpc.aio.Metadata(*given, *tracing.outgoing_metadata(), *self._shows(_name(details.method), given))
        timeout = DEADLINE_SECONDS if details.timeout is None else details.timeout
        changed = grpc.aio.ClientCallDetails(details.method, timeout, metadata, details.credentials, details.wait_for_ready)
        return await continuation(changed, request)


class _TokenInterceptor(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, shows: _Shows) -> None:
        self._shows = shows

    async def intercept_unary_stream(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        details = client_call_details
        given = tuple(details.metadata or ())
        metadata = grpc.aio.Metadata(*given, *self._shows(_name(details.method), given))
        changed = grpc.aio.ClientCallDetails(details.method, details.timeout, metadata, details.credentials, details.wait_for_ready)
        return await continuation(changed, request)


def _showing(own: OwnToken) -> _Shows:
    def show(_method: str, _given: Any) -> tuple[tuple[str, str], ...]:
        header = own.header()
        return () if header is None else ((AUTHORIZATION, header),)

    return show


def _signing(signer: Signer) -> _Shows:
    def show(method: str, given: Any) -> tuple[tuple[str, str], ...]:
        header = signer.header(method, dict(given).get(ASKED_BY, ""))
        return () if header is None else ((AUTHORIZATION, header),)

    return show


def _name(method: str | bytes) -> str:
    return method.decode() if isinstance(method, bytes) else method


class _SyncCallDetails(grpc.ClientCallDetails):
    def __init__(self, given: grpc.ClientCallDetails, shows: _Shows) -> None:
        self.method = given.method
        self.timeout = DEADLINE_SECONDS if given.timeout is None else given.timeout
        metadata = tuple(given.metadata or ())
        self.metadata = (*metadata, *tracing.outgoing_metadata(), *shows(_name(given.method), metadata))
        self.credentials = given.credentials
        self.wait_for_ready = given.wait_for_ready
        self.compression = given.compression


class _SyncDeadlineInterceptor(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, shows: _Shows) -> None:
        self._shows = shows

    def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.ClientCallDetails, Any], Any],
        client_call_details: grpc.ClientCallDetails,
        request: Any,
    ) -> Any:
        return continuation(_SyncCallDetails(client_call_details, self._shows), request)

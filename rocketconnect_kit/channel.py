"""Channels to other services: deadlines, keepalive, a bounded retry of UNAVAILABLE alone, TLS as the settings say."""

import json
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from rocketconnect_kit import tracing
from rocketconnect_kit.settings import ServiceSettings, parse_addresses

DEADLINE_SECONDS = 5.0
"""The deadline of a call that was given none."""

# AIP-194: only UNAVAILABLE is repeated by itself. Five attempts is the most that gRPC makes; with these delays they span about
# two seconds, and the deadline of the call ends them sooner.
_SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
}
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    # Processes on one machine must not share a connection object: one that is stuck would hold up the others.
    ("grpc.use_local_subchannel_pool", 1),
]


def channel(address: str, settings: ServiceSettings, *, retry: bool = True) -> grpc.aio.Channel:
    """Return a channel to "host:port" or "ip:port,ip:port" (replicas, in turn). It connects when it is first used.

    Unary calls without a timeout get 5 s. `retry=False`: a call is tried once, for callers that have another address to try.
    Close it with `await channel.close()`.

    Raises:
        ValueError: when the address is wrong or empty.
    """
    interceptors: list[grpc.aio.ClientInterceptor] = [_DeadlineInterceptor()]
    options = [*_OPTIONS, ("grpc.enable_retries", int(retry))]
    credentials = client_credentials(settings)
    if credentials is None:
        return grpc.aio.insecure_channel(target(address), options=options, interceptors=interceptors)
    return grpc.aio.secure_channel(target(address), credentials, options=options, interceptors=interceptors)


def sync_channel(address: str, settings: ServiceSettings) -> grpc.Channel:
    """Return the blocking form of `channel`, for threads; close it with `channel.close()`."""
    credentials = client_credentials(settings)
    if credentials is None:
        plain = grpc.insecure_channel(target(address), options=_OPTIONS)
    else:
        plain = grpc.secure_channel(target(address), credentials, options=_OPTIONS)
    return grpc.intercept_channel(plain, _SyncDeadlineInterceptor())


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


class _DeadlineInterceptor(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        details = client_call_details
        metadata = grpc.aio.Metadata(*(details.metadata or ()), *tracing.outgoing_metadata())
        timeout = DEADLINE_SECONDS if details.timeout is None else details.timeout
        changed = grpc.aio.ClientCallDetails(details.method, timeout, metadata, details.credentials, details.wait_for_ready)
        return await continuation(changed, request)


class _SyncCallDetails(grpc.ClientCallDetails):
    def __init__(self, given: grpc.ClientCallDetails) -> None:
        self.method = given.method
        self.timeout = DEADLINE_SECONDS if given.timeout is None else given.timeout
        self.metadata = (*(given.metadata or ()), *tracing.outgoing_metadata())
        self.credentials = given.credentials
        self.wait_for_ready = given.wait_for_ready
        self.compression = given.compression


class _SyncDeadlineInterceptor(grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.ClientCallDetails, Any], Any],
        client_call_details: grpc.ClientCallDetails,
        request: Any,
    ) -> Any:
        return continuation(_SyncCallDetails(client_call_details), request)

"""Prometheus metrics: counters of all calls, and the endpoint that shows everything the process counts."""

import platform
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version

import grpc
import prometheus_client

from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext
from rocketconnect_kit.serving.scrapes import Endpoint, Guard, start

BUILD = prometheus_client.Info("rocketconnect_build", "The versions of RocketConnect and of Python that run.")
BUILD.info({"version": version("rocketconnect"), "python": platform.python_version()})

CALLS = prometheus_client.Counter(
    "rocketconnect_rpc_calls", "Calls that were answered, by method and canonical code.", ["method", "code"]
)
SECONDS = prometheus_client.Histogram(
    "rocketconnect_rpc_duration_seconds",
    "Time to answer a call; watches are not in it.",
    ["method"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
RUNNING = prometheus_client.Gauge("rocketconnect_rpc_calls_running", "Calls and watches that are open.", ["method"])
HEALTHY = prometheus_client.Gauge("rocketconnect_dependency_healthy", "1: it answers; 0: it does not.", ["dependency"])

LEADING = prometheus_client.Gauge("rocketconnect_leading", "1: this replica takes calls; 0: another one leads.", registry=None)
"""Shown from show_leading on: a process that has no replicas that lead, as a gateway, would be one that never does."""


class MetricsInterceptor(AroundCalls):
    """Counts and times every call."""

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:
        """Count one call."""
        began = time.perf_counter()
        running = RUNNING.labels(method)
        running.inc()
        code = "CANCELLED"
        try:
            yield
            code = "OK"
        except Exception:
            code = _name(context.code())
            raise
        finally:
            running.dec()
            CALLS.labels(method, code).inc()
            if not streaming:
                SECONDS.labels(method).observe(time.perf_counter() - began)


def show_leading(does: bool) -> None:
    """Show whether this replica takes calls."""
    LEADING.set(does)
    _registered()


@cache
def _registered() -> None:
    prometheus_client.REGISTRY.register(LEADING)


def start_endpoint(host: str, port: int, unwell: Callable[[], str], guard: Guard) -> Endpoint:
    """Serve `/metrics` of the process, and `/readyz`, on a thread.

    Args:
        host: where to listen.
        port: 0: a free one.
        unwell: says why the service can't do its work, "" when it can; called on other threads. `/readyz` is 503 with it, else 200.
        guard: who is told of the metrics.

    Raises:
        OSError: when the port is taken.
    """
    return start(host, port, prometheus_client.make_wsgi_app(), guard, unwell)


def _name(code: object) -> str:
    # grpc.aio hands out an int when the status was set as one.
    if isinstance(code, int):
        return next((status.name for status in grpc.StatusCode if status.value[0] == code), "UNKNOWN")
    return code.name if isinstance(code, grpc.StatusCode) else "UNKNOWN"

"""Puts the exporter together and runs it until a signal."""

import asyncio
import signal

import prometheus_client

from rocketconnect_kit import metrics
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving import resources
from rocketconnect_kit.serving.server import announce
from services.exporter.collector import ServiceCollector
from services.exporter.settings import ExporterSettings

_log = get_logger(__name__)


async def run(settings: ExporterSettings) -> int:
    """Serve `/metrics` until a signal; return the exit code: 0, or 1 when the port is taken (logged with what to do)."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    resources.show(settings)
    for each in (metrics.BUILD, resources.MEMORY_LIMIT, resources.MEMORY_USED, resources.CERTIFICATES):
        registry.register(each)
    collector = ServiceCollector(settings)
    registry.register(collector)
    brokers = None
    if settings.rocketmq_metrics:
        # For who needs it alone: it brings the client of RocketMQ.
        from services.exporter.rocketmq.collector import CannotConnect, watch

        try:
            brokers = watch(settings)
        except CannotConnect as error:
            _log.error("can't start", cause=str(error))
            return 1
        registry.register(brokers)
    try:
        server, thread = prometheus_client.start_http_server(
            settings.port,
            settings.host,
            registry,
            certfile=None if settings.tls_cert is None else str(settings.tls_cert),
            keyfile=None if settings.tls_key is None else str(settings.tls_key),
            client_cafile=None if settings.tls_ca is None else str(settings.tls_ca),
            client_auth_required=settings.tls_ca is not None and settings.tls_verify_clients,
        )
    except OSError as error:
        advice = "is the port in use? choose another --port, or 0 for a free one"
        cause = f"can't listen on {settings.host}:{settings.port}: {error.strerror or error}; {advice}"
        _log.error("can't start", cause=cause)
        return 1
    address = f"{settings.host}:{server.server_port}"
    announce(settings.announce_fd, "exporter", address, address)
    _log.info("serving", address=address)
    await stop.wait()
    # What a scrape that is under way asks has its own deadline, and Prometheus takes a lost scrape as one.
    await asyncio.to_thread(server.shutdown)
    server.server_close()
    thread.join()
    collector.close()
    if brokers is not None:
        await asyncio.to_thread(brokers.close)
    _log.info("stopped")
    return 0

"""Puts the exporter together and runs it until a signal."""

import asyncio
import signal

import prometheus_client

from rocketconnect_kit import metrics
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving import resources
from rocketconnect_kit.serving.scrapes import Guard, start
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
        shown = prometheus_client.make_wsgi_app(registry)
        endpoint = start(settings.host, settings.port, shown, Guard.of(settings, always_secure=True))
    except OSError as error:
        advice = "is the port in use? choose another --port, or 0 for a free one"
        cause = f"can't listen on {settings.host}:{settings.port}: {error.strerror or error}; {advice}"
        _log.error("can't start", cause=cause)
        return 1
    announce(settings.announce_fd, "exporter", endpoint.address, endpoint.address)
    _log.info("serving", address=endpoint.address)
    await stop.wait()
    # What a scrape that is under way asks has its own deadline, and Prometheus takes a lost scrape as one.
    await asyncio.to_thread(endpoint.close)
    collector.close()
    if brokers is not None:
        await asyncio.to_thread(brokers.close)
    _log.info("stopped")
    return 0

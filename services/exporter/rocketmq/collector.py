"""Asks all brokers again and again, and hands Prometheus what they said last."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from rocketconnect_kit.logs import get_logger
from rocketmq_remoting import Client, InvalidRequest, RocketMQError, TlsOptions
from services.exporter.rocketmq import families
from services.exporter.rocketmq.asking import Round
from services.exporter.rocketmq.snapshot import Broker
from services.exporter.settings import ExporterSettings

_log = get_logger(__name__)

_GROUP = "rocketconnect_exporter"
_REMEMBERED_SECONDS = 3600.0
"""So long a broker that the name server no longer has is one that is away; then it is one that was taken away."""
_STALE_ROUNDS = 3
"""What is older than so many rounds is no longer told."""


class CannotConnect(Exception):
    """RocketMQ cannot be asked with these settings; the text says what to change."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a round brought."""

    metrics: Sequence[Metric] = ()
    up: Mapping[Broker, bool] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    name_server: bool = False
    ended: float | None = None
    seconds: float = 0.0


class BrokerCollector(Collector):
    """A Prometheus collector; a thread of its own asks, so that no scrape waits for a broker.

    Args:
        client: Asks; it is closed with this.
        interval: Seconds between two rounds, and how long one may take.
        most: See Round.
    """

    def __init__(self, client: Client, *, interval: float, most: int) -> None:
        self._client = client
        self._interval = interval
        self._most = most
        self._told = _Told()
        self._known: dict[str, tuple[Broker, float]] = {}
        self._away: set[str] = set()
        self._named = True
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rocketmq metrics", daemon=True)
        self._thread.start()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: what there is to tell is known when brokers have answered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield what the last round brought."""
        told = self._told
        yield from families.of_rounds(told.up, told.left_out, name_server=told.name_server, ended=told.ended, seconds=told.seconds)
        if told.ended is not None and time.time() - told.ended < self._interval * _STALE_ROUNDS:
            yield from told.metrics

    def close(self) -> None:
        """Stop asking and close the client; no scrape may follow."""
        self._stop.set()
        self._client.close()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._told = self._ask(began)
            except Exception:
                if not self._stop.is_set():
                    # A defect of one round must not end all that follow.
                    _log.exception("a round of questions to RocketMQ failed")
            self._stop.wait(max(began + self._interval - time.monotonic(), 0.0))

    def _ask(self, began: float) -> _Told:
        named = self._find(began)
        asking = Round(self._client.admin, seconds=self._interval, most=self._most)
        said = asking.ask([broker for broker, seen in self._known.values() if seen == began or not named])
        up = {broker: broker in said.runtime for broker, _ in self._known.values()}
        for broker, does in up.items():
            at = broker.address
            if self._stop.is_set():
                # The client was closed under it.
                break
            self._say(broker, does, asking.away.get(at) or asking.refused.get(at, "the name server no longer has it"))
        seconds = time.monotonic() - began
        return _Told(list(families.of(said)), up, said.left_out, named, time.time(), seconds)

    def _find(self, now: float) -> bool:
        """Note the brokers that the name server has; return whether it answered."""
        try:
            found = self._client.admin.brokers()
        except RocketMQError as error:
            if self._named:
                _log.warning("no name server answers", cause=str(error))
            self._named = False
            return False
        if not self._named:
            _log.info("a name server answers again")
        self._named = True
        for each in found:
            for number, address in each.addresses.items():
                self._known[address] = (Broker(each.cluster, each.name, address, number), now)
        self._known = {key: (broker, seen) for key, (broker, seen) in self._known.items() if now - seen < _REMEMBERED_SECONDS}
        return True

    def _say(self, broker: Broker, answers: bool, cause: str) -> None:
        if answers and broker.address in self._away:
            _log.info("a broker answers again", broker=broker.name, address=broker.address)
            self._away.discard(broker.address)
        elif not answers and broker.address not in self._away:
            _log.warning("a broker does not answer", broker=broker.name, address=broker.address, cause=cause)
            self._away.add(broker.address)


def watch(settings: ExporterSettings) -> BrokerCollector:
    """Begin to ask the brokers of these settings.

    Raises:
        CannotConnect: a setting is wrong.
    """
    try:
        client = Client(
            settings.name_server,
            group=_GROUP,
            access_key=settings.rocketmq_access_key or None,
            secret_key=settings.rocketmq_secret_key or None,
            tls=_tls(settings) if settings.rocketmq_tls else None,
        )
    except InvalidRequest as error:
        msg = f"--name-server {settings.name_server!r}: {error}"
        raise CannotConnect(msg) from error
    return BrokerCollector(client, interval=settings.rocketmq_interval_seconds, most=settings.rocketmq_most)


def _tls(settings: ExporterSettings) -> TlsOptions:
    named = (settings.rocketmq_tls_ca, settings.rocketmq_tls_cert, settings.rocketmq_tls_key)
    ca, certificate, key = (None if path is None else str(path) for path in named)
    try:
        return TlsOptions.of_files(ca, certificate, key, settings.rocketmq_tls_server_name or None)
    except OSError as error:
        files = ", ".join(filter(None, (ca, certificate, key)))
        msg = f"the certificates for RocketMQ ({files}) can't be used: {error}: give valid PEM files"
        raise CannotConnect(msg) from error

"""Asks the services at a scrape and hands Prometheus what they say."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.state.v1 import state_service_pb2 as state
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.logs import get_logger
from services.exporter import dead_letters, families, gateway, lag
from services.exporter.settings import ExporterSettings
from services.exporter.survey import Survey

_PAGE_SIZE = 500
_ASKED_ONLY_FOR_HEALTH = ("config", "position")

_log = get_logger(__name__)


class _Away(Exception):
    """A service does not answer."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a service said."""

    metrics: Sequence[Metric] = ()
    workers: Sequence[cluster.Worker] = ()


class ServiceCollector(Collector):
    """A Prometheus collector; scrapes at the same time wait for one another and share an answer.

    Args:
        settings: The addresses, and how long services have to answer.
        monotonic: The clock.
    """

    def __init__(self, settings: ExporterSettings, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._monotonic = monotonic
        names = ("state", "cluster", *_ASKED_ONLY_FOR_HEALTH)
        addresses = {name: getattr(settings, f"{name}_address") for name in names}
        self._channels = {name: sync_channel(address, settings, service=name) for name, address in addresses.items() if address}
        ask = {"state": self._states, "cluster": self._cluster}
        self._asks: dict[str, Callable[[float], _Said]] = {
            name: partial(ask.get(name, self._health), channel) for name, channel in self._channels.items()
        }
        self._lags: Survey[lag.Lag] | None = None
        self._letters: Survey[dead_letters.Letters] | None = None
        self._keepers = dead_letters.Keepers()
        if settings.gateway_address:
            self._asks["gateway"] = self._gateway
            asked = gateway.Gateway(settings.gateway_address, settings, settings.survey_answer_seconds)
            self._lags = Survey("the lag", partial(lag.ask, asked), settings.survey_seconds)
            self._letters = Survey("how many dead letters wait", partial(dead_letters.ask, asked), settings.survey_seconds)
        self._threads = ThreadPoolExecutor(len(self._asks), thread_name_prefix="scrape")
        self._lock = Lock()
        self._known: tuple[float, Sequence[Metric]] | None = None
        self._away: set[str] = set()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: what there is to tell is known when the services are asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield everything that the services say within the deadline."""
        with self._lock:
            now = self._monotonic()
            if self._known is None or now - self._known[0] > self._settings.cache_seconds:
                self._known = (now, list(self._ask(now)))
            _, said = self._known
        yield from said

    def close(self) -> None:
        """Close all channels; no scrape may follow."""
        for survey in (self._lags, self._letters):
            if survey is not None:
                survey.close()
        for each in self._channels.values():
            each.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _ask(self, began: float) -> Iterator[Metric]:
        deadline = began + self._settings.scrape_seconds
        asked = {name: self._threads.submit(self._said_by, name, deadline) for name in self._asks}
        answers = {name: answer.result() for name, answer in asked.items()}
        said = [answer for answer in answers.values() if answer is not None]
        workers = [worker for each in said for worker in each.workers]
        yield from families.up({name: answer is not None for name, answer in answers.items()}, workers)
        for each in said:
            yield from each.metrics
        seconds = self._monotonic() - began
        yield families.scrape_seconds(seconds)

    def _said_by(self, name: str, deadline: float) -> _Said | None:
        """Return what a service says; None when it does not answer in time."""
        try:
            said = self._asks[name](deadline)
        except (grpc.RpcError, _Away) as error:
            if name not in self._away:
                cause = f"{error.code()}: {error.details()}" if isinstance(error, grpc.RpcError) else str(error)
                _log.warning("a service does not answer", service=name, cause=cause)
            self._away.add(name)
            return None
        if name in self._away:
            _log.info("a service answers again", service=name)
            self._away.discard(name)
        return said

    def _states(self, channel: grpc.Channel, deadline: float) -> _Said:
        request, found = state.ListConnectorStatesRequest(page_size=_PAGE_SIZE), []
        for page in self._pages(StateServiceStub(channel).ListConnectorStates, request, deadline):
            found += page.states
        return _Said([*families.of_states(found), *self._surveyed(found)])

    def _surveyed(self, said: Sequence[state.ConnectorState]) -> Iterator[Metric]:
        """Yield what was asked for in the background; what is asked for from now on follows from what is said."""
        known: Mapping[str, lag.Lag] = {}
        if self._lags is not None:
            self._lags.want(dict.fromkeys(lag.untold(said)))
            known = self._lags.known()
        yield from lag.shown(said, known)
        if self._letters is not None:
            letters = self._letters.known()
            keepers = self._keepers.among(said, letters)
            self._letters.want(keepers)
            yield from dead_letters.shown(keepers, letters)

    def _cluster(self, channel: grpc.Channel, deadline: float) -> _Said:
        stub = ClusterServiceStub(channel)
        workers: list[cluster.Worker] = []
        for page in self._pages(stub.ListWorkers, cluster.ListWorkersRequest(page_size=_PAGE_SIZE), deadline):
            workers += page.workers
        assignments: list[cluster.Assignment] = []
        changes = 0
        for page in self._pages(stub.ListAssignments, cluster.ListAssignmentsRequest(page_size=_PAGE_SIZE), deadline):
            assignments += page.assignments
            changes = page.assignment_changes
        return _Said(list(families.of_cluster(workers, assignments, changes)), workers)

    def _health(self, channel: grpc.Channel, deadline: float) -> _Said:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        stub.Check(health_pb2.HealthCheckRequest(), timeout=self._left(deadline))
        return _Said()

    def _gateway(self, deadline: float) -> _Said:
        cause = gateway.ask(self._settings.gateway_address, self._settings, self._left(deadline))
        if cause:
            raise _Away(cause)
        return _Said()

    def _pages(self, call: Callable[..., Any], request: Any, deadline: float) -> Iterator[Any]:
        while True:
            page = call(request, timeout=self._left(deadline))
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _left(self, deadline: float) -> float:
        # gRPC answers DEADLINE_EXCEEDED at once when nothing is left.
        return max(deadline - self._monotonic(), 0)

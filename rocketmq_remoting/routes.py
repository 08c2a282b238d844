"""Where topics and brokers are: asked of the name servers, kept, refreshed."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rocketmq_remoting.connections.network import split_address
from rocketmq_remoting.errors import (
    InvalidRequest,
    NameServersUnavailable,
    NotSent,
    RetriableError,
    RocketMQError,
    TopicNotFound,
)
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.requests import Request, check
from rocketmq_remoting.protocol.route import decode_cluster, decode_route, decode_topic_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.connections.pending import Pending
    from rocketmq_remoting.model import BrokerData, TopicRoute
    from rocketmq_remoting.protocol.frame import Frame

T = TypeVar("T")


def parse_name_servers(name_servers: Sequence[str] | str) -> list[str]:
    """Return the addresses of `a:9876;b:9876` or of a sequence.

    Raises:
        InvalidRequest: there is none, or one is malformed.
    """
    parts = name_servers.replace(",", ";").split(";") if isinstance(name_servers, str) else name_servers
    addresses = [part.strip() for part in parts if part.strip()]
    if not addresses:
        msg = "no name server given: write host:port, such as 127.0.0.1:9876"
        raise InvalidRequest(msg)
    for address in addresses:
        split_address(address)
    return addresses


class Routes:
    """Asks the name servers, the one that answered last first. Safe for concurrent use."""

    def __init__(self, network: Network, name_servers: Sequence[str] | str, timeout: float, max_age: float) -> None:
        self._network = network
        self._servers = parse_name_servers(name_servers)
        self._timeout = timeout
        self._max_age = max_age
        self._lock = threading.Lock()
        self._topics: dict[str, tuple[TopicRoute, float]] = {}
        self._brokers: dict[str, BrokerData] = {}
        self._doubted: set[str] = set()

    def topic(self, topic: str, *, fresh: bool = False) -> TopicRoute:
        """Return a topic's route, from memory if it is young enough.

        A route that has grown old is still used while no name server knows better.

        Raises:
            TopicNotFound: no broker has announced the topic, and none that might is missing.
            NameServersUnavailable: no name server answered, or no broker is registered.
        """
        known = self._topics.get(topic)
        if known is not None and not fresh and time.monotonic() - known[1] < self._max_age:
            return known[0]
        try:
            route = self._fetch(topic)
        except RetriableError:
            if known is None or fresh:
                raise
            return known[0]
        except TopicNotFound:
            self._blame_missing_brokers(topic, known[0] if known is not None else None)
            self._topics.pop(topic, None)
            raise
        with self._lock:
            self._topics[topic] = (route, time.monotonic())
            self._remember(route.brokers)
        return route

    def _blame_missing_brokers(self, topic: str, known: TopicRoute | None) -> None:
        """Raise if the topic may only be missing because brokers are: a name server forgets a dead broker's topics."""
        registered = {broker.name for broker in self.cluster()}
        had = {broker.name for broker in known.brokers} if known is not None else set()
        if not registered or not had <= registered:
            missing = ", ".join(sorted(had - registered)) or "any broker"
            msg = f"topic {topic}: the name server doesn't know {missing} now; is it running?"
            raise NameServersUnavailable(msg)

    def master(self, broker: str) -> str:
        """Return the address of a broker group's master: the last known one while no name server knows better.

        Raises:
            NameServersUnavailable: the group was never known, or has no master now.
        """
        known = self._brokers.get(broker)
        if known is None or known.master is None or broker in self._doubted:
            try:
                self.cluster()
            except RetriableError:
                if known is None or known.master is None:
                    raise
            known = self._brokers.get(broker)
        if known is None or known.master is None:
            msg = f"broker {broker} has no master that a name server knows; is it running?"
            raise NameServersUnavailable(msg)
        return known.master

    def doubt(self, broker: str) -> None:
        """Ask for this broker's address again next time, as after a failed connection."""
        with self._lock:
            self._doubted.add(broker)

    def submit(
        self,
        broker: str,
        request: Request,
        read: Callable[[Frame], T],
        *,
        timeout: float,
        what: str,
        not_after: float | None = None,
    ) -> Pending[T]:
        """Write a request to a broker group's master and return its future answer; arguments and errors as `Connection.submit`."""
        address = self.master(broker)
        try:
            return self._network.submit(address, request, read, timeout=timeout, what=what, not_after=not_after)
        except NotSent:
            self.doubt(broker)
            raise

    def _remember(self, brokers: Iterable[BrokerData]) -> None:
        for broker in brokers:
            self._brokers[broker.name] = broker
            self._doubted.discard(broker.name)

    def known_masters(self) -> list[str]:
        """Return the addresses of all masters that were ever asked for."""
        with self._lock:
            return sorted({broker.master for broker in self._brokers.values() if broker.master is not None})

    def refresh(self) -> None:
        """Fetch all known routes anew; what can't be fetched stays as it is."""
        for topic in list(self._topics):
            try:
                self.topic(topic, fresh=True)
            except RocketMQError:
                # Whoever uses the route next meets the same error, and can tell the user.
                continue

    def cluster(self) -> tuple[BrokerData, ...]:
        """Return all brokers of all clusters.

        Raises:
            NameServersUnavailable: none answered.
        """
        brokers = self.ask(
            Request(RequestCode.GET_BROKER_CLUSTER_INFO, {}), lambda frame: decode_cluster(check(frame, _LIST).body), _LIST
        )
        with self._lock:
            self._remember(brokers)
        return brokers

    def topics(self) -> list[str]:
        """Return all topic names that brokers have announced, RocketMQ's own among them."""
        return self.ask(
            Request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}),
            lambda frame: decode_topic_list(check(frame, _LIST).body),
            _LIST,
        )

    def forget_topic(self, topic: str) -> None:
        """Ask anew for this topic next time."""
        self._topics.pop(topic, None)

    @property
    def servers(self) -> list[str]:
        """The name servers' addresses, the one that answered last first."""
        with self._lock:
            return list(self._servers)

    def ask(self, request: Request, read: Callable[[Frame], T], what: str) -> T:
        """Ask one name server after the other until one answers.

        Raises:
            NameServersUnavailable: none did; the message says why for each.
            RocketMQError: one answered with an error.
        """
        failures = []
        for server in self.servers:
            try:
                answer = self._network.call(server, request, read, timeout=self._timeout, what=what)
            except RetriableError as error:
                failures.append(str(error))
                continue
            with self._lock:
                self._servers.sort(key=server.__ne__)
            return answer
        msg = f"{what}: no name server answered: {'; '.join(failures)}"
        raise NameServersUnavailable(msg)

    def _fetch(self, topic: str) -> TopicRoute:
        what = f"route of topic {topic}"
        request = Request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"})
        return self.ask(request, partial(_read_route, topic, what), what)


_LIST = "list of brokers and topics"


def _read_route(topic: str, what: str, frame: Frame) -> TopicRoute:
    if frame.code == ResponseCode.TOPIC_NOT_EXIST:
        msg = (
            f"topic {topic} is not known to the name server: create it, check its name, or wait a moment if a broker "
            "has just started"
        )
        raise TopicNotFound(
            msg,
            code=frame.code,
        )
    return decode_route(topic, check(frame, what).body)

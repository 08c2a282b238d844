"""Heartbeats: brokers learn which groups this client sends and reads for, and keep its connections."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.protocol.codes import RequestCode
from rocketmq_remoting.protocol.requests import Request, check, heartbeat_request

if TYPE_CHECKING:
    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.routes import Routes

_log = logging.getLogger(__name__)
_TIMEOUT = 3.0
_ALL = "*", "TAG"


class Heartbeat:
    """Sends heartbeats in a thread of its own and refreshes the routes on the way. Safe for concurrent use.

    Brokers forget a client after 120 s without one, and close connections that idle as long.
    """

    def __init__(self, network: Network, routes: Routes, client_id: str, group: str, interval: float) -> None:
        self._network = network
        self._routes = routes
        self._client_id = client_id
        self._group = group
        self._interval = interval
        self._lock = threading.Lock()
        self._subscriptions: dict[str, dict[str, tuple[str, str]]] = {}
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="rocketmq heartbeat", daemon=True)
        self._thread.start()

    def subscribe(self, group: str, topic: str, expression: tuple[str, str] | None = None) -> None:
        """Announce that a group reads a topic, at once if that is new; with what filter, unless it is None."""
        with self._lock:
            topics = self._subscriptions.setdefault(group, {})
            wanted = expression or topics.get(topic, _ALL)
            if topics.get(topic) == wanted:
                return
            topics[topic] = wanted
        self._wake.set()

    def close(self) -> None:
        """Stop, and tell the brokers that this client goes."""
        self._closed = True
        self._wake.set()
        self._thread.join(timeout=_TIMEOUT * 2)
        with self._lock:
            groups = sorted(self._subscriptions)
        fields = [{"producerGroup": self._group}, *({"consumerGroup": group} for group in groups)]
        for connection in self._network.open_connections():
            if connection.address in self._routes.servers:
                continue
            for names in fields:
                request = Request(RequestCode.UNREGISTER_CLIENT, {"clientID": self._client_id, **names})
                try:
                    connection.submit(request, lambda frame: frame, timeout=1.0, what="unregister").result()
                except RocketMQError as error:
                    # The broker forgets the client on its own a little later.
                    _log.debug("unregister: %s", error)
                    break

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(self._interval)
            self._wake.clear()
            if not self._closed:
                try:
                    self.beat()
                    self._routes.refresh()
                except Exception:
                    # A defect must not end this thread: without it routes would grow old unseen.
                    _log.exception("heartbeat")

    def beat(self) -> None:
        """Send a heartbeat over every open connection to a broker; a failure is logged."""
        with self._lock:
            subscriptions = {group: dict(topics) for group, topics in self._subscriptions.items()}
        request = heartbeat_request(self._client_id, [self._group], subscriptions)
        for connection in self._network.open_connections():
            if connection.address in self._routes.servers:
                continue
            try:
                connection.submit(request, lambda frame: check(frame, "heartbeat"), timeout=_TIMEOUT, what="heartbeat").result()
            except RocketMQError as error:
                # The next one comes soon, and whoever uses the broker meets the same error.
                _log.debug("heartbeat: %s", error)

"""Reads and changes how topics and consumer groups are set on each broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rocketmq_remoting.errors import RetriableError
from rocketmq_remoting.protocol.codes import RequestCode, ResponseCode
from rocketmq_remoting.protocol.requests import Request, check, group_request, topic_request
from rocketmq_remoting.protocol.route import decode_group_configs, decode_topic_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.model import TopicConfig
    from rocketmq_remoting.protocol.frame import Frame
    from rocketmq_remoting.routes import Routes

T = TypeVar("T")
_ORDER = {"namespace": "ORDER_TOPIC_CONFIG"}


class Settings:
    """What `Client.settings` gives. Safe for concurrent use. Calls wait for the answer; most take the address of a broker."""

    def __init__(self, network: Network, routes: Routes, timeout: float) -> None:
        self._network = network
        self._routes = routes
        self._timeout = timeout

    def topics(self, address: str) -> dict[str, TopicConfig]:
        """Return all topics that a broker has, its own among them."""
        what = f"topics of broker {address}"
        request = Request(RequestCode.GET_ALL_TOPIC_CONFIG, {})
        return self._ask(address, request, lambda frame: decode_topic_configs(check(frame, what).body), what)

    def groups(self, address: str) -> dict[str, Mapping[str, object]]:
        """Return the settings of all consumer groups that a broker has, its own among them, as it names them."""
        what = f"consumer groups of broker {address}"
        request = Request(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {})
        return self._ask(address, request, lambda frame: decode_group_configs(check(frame, what).body), what)

    def set_topic(self, address: str, config: TopicConfig, attributes: Mapping[str, str | None]) -> None:
        """Make a topic on a broker, or change it. Of the attributes these are set; None: taken away.

        A broker refuses attributes that it does not know, and those that can't be changed, even to what they are.
        """
        self._do(address, topic_request(config, attributes), f"set topic {config.topic} on broker {address}")

    def set_group(self, address: str, config: Mapping[str, object], attributes: Mapping[str, str | None]) -> None:
        """Make a consumer group on a broker, or set all that it has anew, but for the attributes: see `set_topic`."""
        self._do(address, group_request(config, attributes), f"set group {config['groupName']} on broker {address}")

    def order(self, topic: str) -> str | None:
        """Return which queues of an ordered topic the name servers tell producers of: "broker-a:8;broker-b:8"; None: nothing."""
        what = f"order of topic {topic}"

        def read(frame: Frame) -> str | None:
            return None if frame.code == ResponseCode.QUERY_NOT_FOUND else check(frame, what).fields.get("value")

        return self._routes.ask(Request(RequestCode.GET_KV_CONFIG, {**_ORDER, "key": topic}), read, what)

    def set_order(self, topic: str, queues: str | None) -> None:
        """Have all name servers tell this, see `order`: clients in Java take the queues of an ordered topic from there alone.

        Raises:
            RetriableError: a name server did not answer; those behind it were asked all the same.
        """
        code = RequestCode.DELETE_KV_CONFIG if queues is None else RequestCode.PUT_KV_CONFIG
        request = Request(code, {**_ORDER, "key": topic, **({} if queues is None else {"value": queues})})
        fault: RetriableError | None = None
        for server in self._routes.servers:
            try:
                self._do(server, request, f"set order of topic {topic}")
            except RetriableError as error:
                fault = error
        if fault is not None:
            raise fault

    def _do(self, address: str, request: Request, what: str) -> None:
        self._ask(address, request, lambda frame: check(frame, what), what)

    def _ask(self, address: str, request: Request, read: Callable[[Frame], T], what: str) -> T:
        return self._network.call(address, request, read, timeout=self._timeout, what=what)

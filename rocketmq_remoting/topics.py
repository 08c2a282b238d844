"""Creates, changes, describes and deletes topics and consumer groups."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import GroupNotFound, InvalidRequest, NameServersUnavailable, RetriableError, TopicNotFound
from rocketmq_remoting.model import TopicConfig
from rocketmq_remoting.protocol.codes import RequestCode
from rocketmq_remoting.protocol.requests import Request, check, create_group_request, topic_request
from rocketmq_remoting.protocol.route import decode_topic_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocketmq_remoting.connections.network import Network
    from rocketmq_remoting.model import Permission
    from rocketmq_remoting.routes import Routes

_NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")
_TYPES = {"normal": "SimpleCQ", "batch": "BatchCQ"}
_POLL = 0.05


class Topics:
    """The admin calls of the client. Safe for concurrent use."""

    def __init__(self, network: Network, routes: Routes, timeout: float) -> None:
        self._network = network
        self._routes = routes
        self._timeout = timeout

    def create(
        self,
        topic: str,
        *,
        queues: int,
        read_queues: int,
        topic_type: str,
        permission: Permission,
        brokers: Sequence[str] | None,
        attributes: Mapping[str, str] | None,
        keep: bool,
    ) -> None:
        """See `Client.create_topic`."""
        check_topic_name(topic)
        if topic_type not in _TYPES:
            msg = f"topic type {topic_type!r}: choose one of {', '.join(sorted(_TYPES))}"
            raise InvalidRequest(msg)
        if min(queues, read_queues) < 1:
            msg = f"a topic with {min(queues, read_queues)} queues: give at least 1"
            raise InvalidRequest(msg)
        masters = self._masters(brokers)
        wanted = {**(attributes or {}), "queue.type": _TYPES[topic_type]}
        deadline = time.monotonic() + self._timeout
        announced = dict.fromkeys(masters, queues)
        for broker, address in masters.items():
            existing = self._config(topic, address)
            if keep and existing is not None:
                announced[broker] = existing.write_queues
                continue
            # The queue type can't be changed, and a broker refuses even the same one for a topic that exists.
            if existing is not None and existing.topic_type != topic_type:
                msg = (
                    f"topic {topic} exists on broker {broker} with type {existing.topic_type}: RocketMQ can't change "
                    f"it to {topic_type}; delete the topic or choose another name"
                )
                raise InvalidRequest(msg)
            changes = {name: value for name, value in wanted.items() if existing is None or name != "queue.type"}
            config = TopicConfig(topic, read_queues, queues, permission, changes)
            self._do(address, topic_request(config, changes), f"create topic {topic} on broker {broker}")
        self._await_route(topic, announced, deadline)

    def delete(self, topic: str) -> None:
        """See `Client.delete_topic`."""
        try:
            route = self._routes.topic(topic, fresh=True)
        except TopicNotFound:
            return
        what = f"delete topic {topic}"
        for broker in route.brokers:
            if broker.master is not None:
                request = Request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
                self._network.call(broker.master, request, lambda frame: check(frame, what), timeout=self._timeout, what=what)
        request = Request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
        problems = []
        for server in self._routes.servers:
            try:
                self._do(server, request, what)
            except RetriableError as error:
                problems.append(str(error))
        self._routes.forget_topic(topic)
        if problems:
            msg = f"{what}: deleted on the brokers, still announced by {'; '.join(problems)}"
            raise NameServersUnavailable(msg)

    def on_broker(self, topic: str) -> bool:
        """See `Client.topic_on_broker`."""
        return any(self._config(topic, address) is not None for address in self._masters(None).values())

    def describe(self, topic: str) -> TopicConfig:
        """See `Client.topic_config`."""
        route = self._routes.topic(topic)
        config = self._config(topic, self._routes.master(route.queues[0].broker))
        if config is None:
            msg = f"topic {topic} is announced, but its broker doesn't have it"
            raise TopicNotFound(msg)
        return config

    def create_group(self, group: str) -> None:
        """See `Client.create_group`."""
        for address in self._masters(None).values():
            try:
                request = Request(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})
                self._do(address, request, f"describe group {group}")
            except GroupNotFound:
                self._do(address, create_group_request(group), f"create group {group}")

    def _do(self, address: str, request: Request, what: str) -> None:
        self._network.call(address, request, lambda frame: check(frame, what), timeout=self._timeout, what=what)

    def _config(self, topic: str, address: str) -> TopicConfig | None:
        request = Request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})
        what = f"describe topic {topic}"
        try:
            return self._network.call(
                address,
                request,
                lambda frame: decode_topic_config(check(frame, what).body),
                timeout=self._timeout,
                what=what,
            )
        except TopicNotFound:
            return None

    def _masters(self, brokers: Sequence[str] | None) -> dict[str, str]:
        known = {broker.name: broker.master for broker in self._routes.cluster() if broker.master is not None}
        if brokers is None:
            if not known:
                msg = "no broker is registered with the name server; is one running?"
                raise NameServersUnavailable(msg)
            return known
        missing = sorted(set(brokers) - set(known))
        if missing:
            msg = f"unknown brokers {', '.join(missing)}; there are {', '.join(sorted(known)) or 'none'}"
            raise InvalidRequest(msg)
        return {name: known[name] for name in brokers}

    def _await_route(self, topic: str, queues: Mapping[str, int], deadline: float) -> None:
        """Wait until the name server announces a topic's write queues of each broker: they register with it a moment later."""
        while True:
            try:
                route = self._routes.topic(topic, fresh=True)
            except TopicNotFound:
                announced = set()
            else:
                announced = {data.broker for data in route.queues if data.write_queues == queues.get(data.broker)}
            if queues.keys() <= announced:
                return
            if time.monotonic() > deadline:
                msg = (
                    f"topic {topic} is created, but the name server doesn't announce it yet on "
                    f"{', '.join(sorted(queues.keys() - announced))}; it will within 30 s"
                )
                raise NameServersUnavailable(msg)
            time.sleep(_POLL)


def check_topic_name(topic: str) -> None:
    """Raise InvalidRequest if RocketMQ doesn't allow this name."""
    if not _NAME.fullmatch(topic):
        msg = f"topic name {topic!r}: use 1 to 127 of the characters a-z, A-Z, 0-9, _, -, % and |"
        raise InvalidRequest(msg)

"""Sends messages to an endpoint of gRPC: several at a time, those of one message group one after the other."""

import hashlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from connectors.rocketmq import messages
from connectors.rocketmq_grpc import faults
from connectors.rocketmq_grpc.client import Client, Endpoint, Route, message_of
from connectors.rocketmq_grpc.messages import GROUP as GROUP_PROPERTY
from connectors.rocketmq_grpc.messages import Sending, sent, type_name
from connectors.rocketmq_grpc.options import DELIVER, GROUP
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from connectors.rocketmq_grpc.session import Session
from rocketconnect_sdk.errors import ConnectorError, RecordError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.writes import Connection, Operation

_WINDOW = 64
"""So many messages are on their way at a time."""
_WINDOW_BYTES = 16 << 20
"""And so many bytes, beside those of the last message."""
_ROUTE_SECONDS = 30.0
_MOST_ROUTES = 1_000


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A message that is to be sent: the index of its operation, where it goes, what it is."""

    index: int
    endpoint: Endpoint
    message: pb.Message


class GrpcConnection(Connection):
    """A producer.

    Args:
        config: That of a sink.
        name: Who we are.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: the client can't be made.
    """

    def __init__(self, config: Config, name: str, seconds: float = 0.0) -> None:
        self._config = config
        self._client = Client(config, f"{name}-{uuid4().hex[:8]}", seconds)
        self._sessions: dict[Endpoint, Session] = {}
        self._routes: dict[str, tuple[float, Route]] = {}
        self._turn = 0

    def ping(self) -> None:
        """See Connection."""
        request = pb.HeartbeatRequest(client_type=pb.PRODUCER)
        answer = self._client.call(self._client.first, "Heartbeat", request, pb.HeartbeatResponse)
        # Who is not known yet was let in.
        if not (faults.is_done(answer.status) or faults.is_unknown_client(answer.status)):
            raise faults.fault_of(answer.status, self._client.place, "the client")

    def types_of(self, topic: str) -> frozenset[int]:
        """The types of messages that a topic takes. Raises ConnectorError."""
        return self._route(topic).types

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection. What was in the other cluster before is left out."""
        refused: dict[int, str] = {}
        lanes: dict[object, deque[_Prepared]] = {}
        for index, operation in enumerate(operations):
            if self._config["target.cluster"] in messages.clusters_of(operation.headers):
                continue
            try:
                prepared = self._prepared(index, operation)
            except (RecordError, ValueError) as error:
                refused[index] = str(error)
            else:
                group = prepared.message.system_properties.message_group
                lanes.setdefault((operation.target, group) if group else index, deque()).append(prepared)
        self._send(deque(lanes.values()), refused)
        return refused

    def close(self) -> None:
        """See Connection."""
        for session in self._sessions.values():
            if not session.has_ended:
                session.leave()
            session.close()
        self._client.close()

    def _prepared(self, index: int, operation: Operation) -> _Prepared:
        """Raises RecordError, ValueError: the message can't be sent; ConnectorError: nobody can tell now."""
        properties = messages.sent_on(operation, self._config["source.cluster"])
        route = self._route(operation.target)
        place = f"{operation.more['queue']}/{operation.more['offset']}"
        sending = Sending(
            self._client.resource(operation.target),
            operation.more.get(GROUP) or properties.get(GROUP_PROPERTY, ""),
            _deliver_ms(operation.more.get(DELIVER, "")),
            # Whoever gets it twice knows it again.
            f"01{hashlib.sha256(place.encode()).hexdigest()[:32].upper()}",
            time.time_ns() // 1_000_000,
        )
        endpoint = self._endpoint(operation.target, route, sending.group)
        allowed = self._session(endpoint, operation.target).settings.publishing
        if allowed.validate_message_type and sending.type not in route.types:
            takes = " and ".join(sorted(map(type_name, route.types)))
            msg = f"it is a {type_name(sending.type)} message, and the topic {operation.target} takes {takes}"
            raise RecordError(msg)
        body = operation.value or b""
        if 0 < allowed.max_body_size < len(body):
            msg = f"it has {len(body):,} bytes, and the cluster allows {allowed.max_body_size:,}"
            raise RecordError(msg)
        return _Prepared(index, endpoint, sent(body, properties, sending))

    def _send(self, lanes: deque[deque[_Prepared]], refused: dict[int, str]) -> None:
        """Sends what is in the lanes, of each one message at a time.

        Raises:
            ConnectorError: it is not known of some whether they are there.
        """
        flying: deque[tuple[Any, deque[_Prepared]]] = deque()
        bytes_flying = 0
        fault: ConnectorError | None = None
        while flying or (lanes and fault is None):
            while lanes and fault is None and len(flying) < _WINDOW and bytes_flying < _WINDOW_BYTES:
                lane = lanes.popleft()
                bytes_flying += len(lane[0].message.body)
                flying.append((self._begun(lane[0]), lane))
            begun, lane = flying.popleft()
            prepared = lane.popleft()
            bytes_flying -= len(prepared.message.body)
            try:
                why = self._outcome(begun, prepared)
            except ConnectorError as error:
                # What is on its way is waited for, so that it is not sent again while it is.
                fault = fault or error
                continue
            if why:
                refused[prepared.index] = why
            if lane:
                lanes.append(lane)
        if fault is not None:
            raise fault

    def _begun(self, prepared: _Prepared) -> Any:
        request = pb.SendMessageRequest(messages=[prepared.message])
        return self._client.begin(prepared.endpoint, "SendMessage", request, pb.SendMessageResponse)

    def _outcome(self, begun: Any, prepared: _Prepared) -> str:
        """Why a message is refused; empty: it is there. Raises ConnectorError: that is not known."""
        answer: pb.SendMessageResponse = self._client.result(begun)
        status = answer.entries[0].status if answer.entries else answer.status
        if faults.is_done(status):
            return ""
        if faults.blames_message(status):
            return f"the cluster refuses it: {faults.words_of(status)}"
        raise faults.fault_of(status, self._client.place, f"messages to {prepared.message.topic.name}")

    def _route(self, topic: str) -> Route:
        now = time.monotonic()
        known = self._routes.get(topic)
        if known is None or now - known[0] > _ROUTE_SECONDS:
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            known = self._routes[topic] = (now, self._client.route(topic))
        return known[1]

    def _endpoint(self, topic: str, route: Route, group: str) -> Endpoint:
        """That of the broker which keeps a message group, or of the next one."""
        names = sorted(route.writable)
        if not names:
            msg = f"{self._client.place}: the topic {topic} may not be written by anybody (its permission)"
            raise SystemAway(msg)
        self._turn += 1
        number = int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") if group else self._turn
        return route.writable[names[number % len(names)]]

    def _session(self, endpoint: Endpoint, topic: str) -> Session:
        found = self._sessions.get(endpoint)
        if found is not None and found.has_ended:
            found.close()
            found = None
        if found is None:
            settings = pb.Settings(
                client_type=pb.PRODUCER,
                access_point=message_of(endpoint),
                user_agent=pb.UA(language=pb.PYTHON, version="RocketConnect"),
                publishing=pb.Publishing(topics=[self._client.resource(topic)], validate_message_type=True),
            )
            settings.request_timeout.FromMilliseconds(round(self._client.seconds * 1000))
            found = self._sessions[endpoint] = Session(self._client, endpoint, settings)
        return found


def _deliver_ms(text: str) -> int | None:
    """When a message is delivered; None: at once. Raises RecordError: the text is no time."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        msg = f"its {DELIVER} is {text[:50]!r}, which is no number of milliseconds since 1970"
        raise RecordError(msg)
    return int(text)

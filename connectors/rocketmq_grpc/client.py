"""Speaks to an endpoint of gRPC: calls that are signed, and what the cluster says of topics. Safe to use from any thread.

RocketMQ's own client for Python (rocketmq-python-client 5.1) is not used. It writes logs into the home directory as soon as it is
imported, keeps threads for good, waits without a limit, trusts only the certificates that gRPC brings, and asks nobody whether
what the cluster announces may be connected to.
"""

import hmac
import socket
import threading
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from connectors.rocketmq.options import address_of
from connectors.rocketmq_grpc.faults import fault_of, fault_of_call, is_done
from connectors.rocketmq_grpc.options import place_of
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config

_SERVICE = "/apache.rocketmq.v2.MessagingService/"
_PROTOCOL = "v2"
_VERSION = "5.1.0"
"""That of RocketMQ's clients whose protocol this is: servers look at it."""
_LARGEST_ANSWER = 256 << 20
"""Far beyond what brokers take as a message: those that are too large for us become dead letters, so they have to come."""
_LONGEST_HOST = 255
_READ, _WRITE = (pb.READ, pb.READ_WRITE), (pb.WRITE, pb.READ_WRITE)
Endpoint = tuple[tuple[str, int], ...]
"""The addresses of one server, or of several that do the same."""
A = TypeVar("A", bound=Message)


@dataclass(frozen=True, slots=True)
class Route:
    """What the cluster says of a topic.

    Attributes:
        readable: By the names of brokers their endpoints, of those that may be read.
        writable: The same of those that may be written.
        types: Of the messages that it takes (pb.MessageType).
    """

    readable: Mapping[str, Endpoint]
    writable: Mapping[str, Endpoint]
    types: frozenset[int]


class Client:
    """Calls of one client, each with the time that an answer may take. Connects when it is first used.

    Args:
        config: Has options.SERVER.
        name: Who we are, for those who look at the server: no other client has it at the same time.
        seconds: In the place of request.timeout.

    Attributes:
        place: What the cluster is called.
        seconds: How long an answer may take.
        first: The endpoint of the configuration.

    Raises:
        PermanentError: a file of the TLS options can't be used, or the login has characters that no header may have.
    """

    def __init__(self, config: Config, name: str, seconds: float = 0.0) -> None:
        self.place = place_of(config)
        self.seconds: float = seconds or config["request.timeout"]
        self.first: Endpoint = tuple(filter(None, map(address_of, config["endpoints"])))
        self._config = config
        self._name = name
        self._secret = (config["secret.key"] or "").encode()
        self._lock = threading.Lock()
        self._channels: dict[Endpoint, grpc.Channel] = {}
        self._is_closed = False
        self._credentials = _credentials(config) if config["tls"] else None
        for key in ("access.key", "namespace"):
            if not (config[key].isascii() and (config[key] or "-").isprintable()):
                msg = f"{self.place}: it has characters that are not of ASCII, which no header of gRPC may have"
                raise PermanentError(msg).naming(key)

    def call(self, endpoint: Endpoint, method: str, request: Message, answer: type[A]) -> A:
        """Calls a method.

        Raises:
            ConnectorError: there is no answer.
        """
        found: A = self.result(self.begin(endpoint, method, request, answer))
        return found

    def begin(self, endpoint: Endpoint, method: str, request: Message, answer: type[A]) -> Any:
        """Calls a method, and returns what `result` waits for. Raises ConnectorError: it can't."""
        multi = self._channel(endpoint).unary_unary(
            _SERVICE + method, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        try:
            return called(multi, request, timeout=self.seconds, metadata=self._metadata())
        except ValueError as error:
            # Of a channel that was closed meanwhile.
            msg = f"{self.place}: {error}"
            raise SystemAway(msg) from error

    def result(self, begun: Any) -> Any:
        """The answer of a call that was begun. Raises ConnectorError: there is none."""
        try:
            return begun.result()
        except grpc.RpcError as error:
            raise fault_of_call(error, self.place) from error
        except grpc.FutureCancelledError as error:
            msg = f"{self.place}: the call was given up"
            raise SystemAway(msg) from error

    def receive(self, endpoint: Endpoint, request: pb.ReceiveMessageRequest, seconds: float) -> Any:
        """Asks for messages, which come as the answers are iterated; raises grpc.RpcError there. `cancel` ends it.

        Args:
            endpoint: Of the broker.
            request: What is wanted.
            seconds: How long the server may wait for a message.
        """
        multi = self._channel(endpoint).unary_stream(
            f"{_SERVICE}ReceiveMessage",
            request_serializer=pb.ReceiveMessageRequest.SerializeToString,
            response_deserializer=pb.ReceiveMessageResponse.FromString,
        )
        return multi(request, timeout=seconds + self.seconds, metadata=self._metadata())

    def converse(self, endpoint: Endpoint, said: Iterable[pb.TelemetryCommand]) -> Any:
        """The conversation in which a client says what it is: what the server says is iterated; `cancel` ends it."""
        multi = self._channel(endpoint).stream_stream(
            f"{_SERVICE}Telemetry",
            request_serializer=pb.TelemetryCommand.SerializeToString,
            response_deserializer=pb.TelemetryCommand.FromString,
        )
        return multi(iter(said), metadata=self._metadata())

    def resource(self, name: str) -> pb.Resource:
        """A topic or a group."""
        return pb.Resource(resource_namespace=self._config["namespace"], name=name)

    def route(self, topic: str) -> Route:
        """What the cluster says of a topic.

        Raises:
            NotThere: the topic is not there.
            ConnectorError: it can't be told.
        """
        request = pb.QueryRouteRequest(topic=self.resource(topic), endpoints=message_of(self.first))
        answer = self.call(self.first, "QueryRoute", request, pb.QueryRouteResponse)
        if not is_done(answer.status):
            raise fault_of(answer.status, self.place, f"the topic {topic}")
        readable: dict[str, Endpoint] = {}
        writable: dict[str, Endpoint] = {}
        types: set[int] = set()
        for queue in answer.message_queues:
            # Followers only stand in for their leaders where these are read without acknowledgements.
            if queue.broker.id == 0:
                endpoint = self._announced(queue.broker.endpoints)
                if queue.permission in _READ:
                    readable[queue.broker.name] = endpoint
                if queue.permission in _WRITE:
                    writable[queue.broker.name] = endpoint
                types.update(queue.accept_message_types)
        return Route(readable, writable, frozenset(types))

    def close(self) -> None:
        """Ends all connections, and with them all calls. Never raises."""
        with self._lock:
            channels, self._channels, self._is_closed = self._channels, {}, True
        for channel in channels.values():
            with suppress(Exception):
                channel.close()

    def _announced(self, endpoints: pb.Endpoints) -> Endpoint:
        found = tuple((each.host, each.port) for each in endpoints.addresses)
        return found if found and self._config["endpoints.announced"] else self.first

    def _channel(self, endpoint: Endpoint) -> grpc.Channel:
        with self._lock:
            if self._is_closed:
                msg = f"{self.place}: the client is closed"
                raise SystemAway(msg)
            if endpoint not in self._channels:
                self._channels[endpoint] = self._connected(endpoint)
            return self._channels[endpoint]

    def _connected(self, endpoint: Endpoint) -> grpc.Channel:
        name = self._config["ssl.server.name"] or endpoint[0][0]
        options: list[tuple[str, Any]] = [
            ("grpc.default_authority", name),
            ("grpc.enable_retries", 0),
            # Whoever says what connectors may connect to has looked at these addresses.
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_receive_message_length", _LARGEST_ANSWER),
            ("grpc.max_send_message_length", -1),
            # Another client that has failed there is no reason to wait.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        target = _target(endpoint, self.place)
        if self._credentials is None:
            return grpc.insecure_channel(target, options)
        return grpc.secure_channel(target, self._credentials, [*options, ("grpc.ssl_target_name_override", name)])

    def _metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """Who calls, and the proof of it: https://github.com/apache/rocketmq-apis has no words for it, its clients show it."""
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        told: list[tuple[str, str | bytes]] = [
            ("x-mq-client-id", self._name),
            ("x-mq-client-version", _VERSION),
            ("x-mq-date-time", now),
            ("x-mq-language", "PYTHON"),
            ("x-mq-namespace", self._config["namespace"]),
            ("x-mq-protocol", _PROTOCOL),
            ("x-mq-request-id", str(uuid.uuid4())),
        ]
        if user := self._config["access.key"]:
            proof = hmac.new(self._secret, now.encode(), sha1).hexdigest()
            told.append(
                ("authorization", f"MQv2-HMAC-SHA1 Credential={user}, SignedHeaders=x-mq-date-time, Signature={proof.upper()}")
            )
        return tuple(told)


def called(method: Any, request: Message, **given: Any) -> Any:
    """Calls a method, whose answer is waited for elsewhere."""
    return method.future(request, **given)


def message_of(endpoint: Endpoint) -> pb.Endpoints:
    """An endpoint as the protocol has it."""
    hosts = [host for host, _ in endpoint]
    scheme = pb.IPv6 if all(":" in host for host in hosts) else pb.IPv4 if all(map(_is_ipv4, hosts)) else pb.DOMAIN_NAME
    return pb.Endpoints(scheme=scheme, addresses=[pb.Address(host=host, port=port) for host, port in endpoint])


def _is_ipv4(host: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET, host)
    except OSError:
        return False
    return True


def _target(endpoint: Endpoint, place: str) -> str:
    """The addresses for gRPC, which connects by itself and is to look nothing up: only those that connectors may connect to."""
    found: dict[str, list[str]] = {"ipv4": [], "ipv6": []}
    for host, port in endpoint:
        try:
            looked_up = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:
            # ValueError: servers announce names, and not each text can be one.
            msg = f"{place}: {host[:_LONGEST_HOST]!r} has no address: {error}"
            raise SystemAway(msg) from error
        for family, _, _, _, address in looked_up:
            if family is socket.AF_INET:
                found["ipv4"].append(f"{address[0]}:{port}")
            elif family is socket.AF_INET6:
                found["ipv6"].append(f"[{address[0]}]:{port}")
    family_name = "ipv4" if found["ipv4"] else "ipv6"
    return f"{family_name}:{','.join(dict.fromkeys(found[family_name]))}"


def _credentials(config: Config) -> grpc.ChannelCredentials:
    parts = [config[f"ssl.{name}.location"] for name in ("ca", "key", "certificate")]
    try:
        ca, key, certificate = (Path(part).read_bytes() if part else None for part in parts)
    except OSError as error:
        msg = f"a certificate can't be used: {error}. Name files with PEM in ssl.*"
        raise PermanentError(msg) from error
    return grpc.ssl_channel_credentials(ca or _of_the_system(), key, certificate)


def _of_the_system() -> bytes | None:
    """The certificates that the system trusts; None: it has none, and those of gRPC are taken."""
    import ssl

    paths = ssl.get_default_verify_paths()
    found = paths.cafile
    return Path(found).read_bytes() if found else None

"""Stands in for a proxy of RocketMQ: topics of one queue in memory, read by one group.

`python -m tests.servers.rocketmq_grpc.standin PORT` runs it. Topics are there once somebody has asked for them, and have the type
that their name ends with. Those whose name begins with "loose" are read in no order. A message
comes again at once where its invisible time was set to nothing. SIGUSR1 ends all connections.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server, takes_connections

OK = pb.Status(code=20000)
MOST_BYTES = 100_000
_POLL_SECONDS = 0.3
_TYPES = ("NORMAL", "FIFO", "DELAY", "TRANSACTION")
_SERVICE = "apache.rocketmq.v2.MessagingService"


@dataclass
class _Stored:
    message: pb.Message
    attempts: int = 0
    invisible_until: float = 0.0
    handle: str = ""
    is_done: bool = False


@dataclass
class _Topic:
    is_ordered: bool
    messages: list[_Stored] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def pop(self, most: int, seconds: float) -> list[_Stored]:
        with self.changed:
            self.changed.wait_for(self._next, _POLL_SECONDS)
            found = self._next()[:most]
            for each in found:
                each.attempts += 1
                each.handle = f"{each.message.system_properties.queue_offset}/{each.attempts}"
                each.invisible_until = time.monotonic() + seconds
            return found

    def _next(self) -> list[_Stored]:
        left = [each for each in self.messages if not each.is_done]
        visible = [each for each in left if each.invisible_until <= time.monotonic()]
        return [] if self.is_ordered and len(visible) < len(left) else visible

    def held(self, handle: str) -> _Stored | None:
        at = int(handle.partition("/")[0])
        found = self.messages[at] if at < len(self.messages) else None
        return found if found is not None and found.handle == handle and found.invisible_until > time.monotonic() else None


class Endpoint:
    """What answers the calls."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._topics: dict[str, _Topic] = {}
        self._known: dict[str, pb.Settings] = {}

    def _topic(self, name: str) -> _Topic:
        return self._topics.setdefault(name, _Topic(not name.startswith("loose")))

    def QueryRoute(self, request: pb.QueryRouteRequest, context: grpc.ServicerContext) -> pb.QueryRouteResponse:
        if request.topic.name.startswith("missing"):
            return pb.QueryRouteResponse(status=pb.Status(code=40402, message="no such topic"))
        kind = request.topic.name.rpartition("-")[2]
        broker = pb.Broker(name="broker", endpoints=pb.Endpoints(addresses=[pb.Address(host="127.0.0.1", port=self._port)]))
        queue = pb.MessageQueue(topic=request.topic, permission=pb.READ_WRITE, broker=broker)
        queue.accept_message_types.append(pb.MessageType.Value(kind if kind in _TYPES else "NORMAL"))
        return pb.QueryRouteResponse(status=OK, message_queues=[queue])

    def Telemetry(self, said: Iterator[pb.TelemetryCommand], context: grpc.ServicerContext) -> Iterator[pb.TelemetryCommand]:
        for command in said:
            settings = command.settings
            if settings.HasField("publishing"):
                settings.publishing.max_body_size = MOST_BYTES
            else:
                settings.subscription.fifo = True
            self._known[_client(context)] = settings
            yield pb.TelemetryCommand(status=OK, settings=settings)

    def Heartbeat(self, request: pb.HeartbeatRequest, context: grpc.ServicerContext) -> pb.HeartbeatResponse:
        return pb.HeartbeatResponse(status=OK if _client(context) in self._known else pb.Status(code=40015))

    def NotifyClientTermination(
        self, request: pb.NotifyClientTerminationRequest, context: grpc.ServicerContext
    ) -> pb.NotifyClientTerminationResponse:
        self._known.pop(_client(context), None)
        return pb.NotifyClientTerminationResponse(status=OK)

    def SendMessage(self, request: pb.SendMessageRequest, context: grpc.ServicerContext) -> pb.SendMessageResponse:
        (message,) = request.messages
        if not message.body:
            return pb.SendMessageResponse(status=pb.Status(code=41302, message="empty"))
        topic = self._topic(message.topic.name)
        with topic.changed:
            message.system_properties.queue_offset = len(topic.messages)
            topic.messages.append(_Stored(message))
            topic.changed.notify_all()
        return pb.SendMessageResponse(status=OK, entries=[pb.SendResultEntry(status=OK)])

    def ReceiveMessage(
        self, request: pb.ReceiveMessageRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ReceiveMessageResponse]:
        if _client(context) not in self._known:
            yield pb.ReceiveMessageResponse(status=pb.Status(code=50001, message="null"))
            return
        topic = self._topic(request.message_queue.topic.name)
        found = topic.pop(request.batch_size, request.invisible_duration.ToMilliseconds() / 1000)
        if not context.is_active():
            for each in found:
                each.invisible_until = 0.0
            return
        yield pb.ReceiveMessageResponse(status=OK if found else pb.Status(code=40401, message="no new message"))
        for each in found:
            message = pb.Message()
            message.CopyFrom(each.message)
            message.system_properties.receipt_handle = each.handle
            message.system_properties.delivery_attempt = each.attempts
            yield pb.ReceiveMessageResponse(message=message)

    def AckMessage(self, request: pb.AckMessageRequest, context: grpc.ServicerContext) -> pb.AckMessageResponse:
        topic = self._topic(request.topic.name)
        entries = []
        with topic.changed:
            for entry in request.entries:
                held = topic.held(entry.receipt_handle)
                if held is not None:
                    held.is_done = True
                entries.append(pb.AckMessageResultEntry(status=OK if held is not None else pb.Status(code=40013)))
            topic.changed.notify_all()
        return pb.AckMessageResponse(status=entries[0].status, entries=entries)

    def ChangeInvisibleDuration(
        self, request: pb.ChangeInvisibleDurationRequest, context: grpc.ServicerContext
    ) -> pb.ChangeInvisibleDurationResponse:
        topic = self._topic(request.topic.name)
        with topic.changed:
            held = topic.held(request.receipt_handle)
            if held is None:
                return pb.ChangeInvisibleDurationResponse(status=pb.Status(code=40013))
            held.invisible_until = time.monotonic() + request.invisible_duration.ToMilliseconds() / 1000
            topic.changed.notify_all()
            return pb.ChangeInvisibleDurationResponse(status=OK, receipt_handle=held.handle)


def _client(context: grpc.ServicerContext) -> str:
    return str(dict(context.invocation_metadata())["x-mq-client-id"])


def _handlers(endpoint: Endpoint) -> grpc.GenericRpcHandler:
    def handler(make: Callable[..., Any], name: str, asked: str = "") -> Any:
        request = getattr(pb, asked or f"{name}Request")
        return make(
            getattr(endpoint, name),
            request_deserializer=request.FromString,
            response_serializer=lambda made: made.SerializeToString(),
        )

    unary = ["QueryRoute", "Heartbeat", "NotifyClientTermination", "SendMessage", "AckMessage", "ChangeInvisibleDuration"]
    methods = {name: handler(grpc.unary_unary_rpc_method_handler, name) for name in unary}
    methods["ReceiveMessage"] = handler(grpc.unary_stream_rpc_method_handler, "ReceiveMessage")
    methods["Telemetry"] = handler(grpc.stream_stream_rpc_method_handler, "Telemetry", "TelemetryCommand")
    return grpc.method_handlers_generic_handler(_SERVICE, methods)


def serve(port: int) -> None:
    """Serves until the process ends."""
    endpoint = Endpoint(port)
    cut = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: cut.set())
    while True:
        server = grpc.server(ThreadPoolExecutor(64), handlers=[_handlers(endpoint)])
        server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()
        cut.wait()
        cut.clear()
        server.stop(None).wait()


class StandIn(Server):
    """An endpoint in a process of its own."""

    title = "the stand-in for a proxy of RocketMQ"
    prefix = "rocketconnect-rocketmq-grpc-"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_ports.choose()

    @property
    def endpoint(self) -> str:
        """As connectors name it."""
        return f"127.0.0.1:{self.port}"

    @property
    def runs_in(self) -> Path:
        """See Server."""
        return Path(__file__).parents[3]

    def command(self) -> Sequence[str]:
        """See Server."""
        return tethered([sys.executable, "-m", __name__, str(self.port)])

    def answers(self) -> bool:
        """See Server."""
        return takes_connections(self.port)

    def cut(self) -> None:
        """Ends all connections."""
        self.signal(signal.SIGUSR1)


if __name__ == "__main__":
    serve(int(sys.argv[1]))

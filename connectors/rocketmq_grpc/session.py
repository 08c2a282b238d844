"""Says to a server what a client is, which it wants to know before it gives messages, and keeps it from forgetting that."""

import threading
from contextlib import suppress
from queue import Empty, SimpleQueue

import grpc

from connectors.rocketmq_grpc.client import Client, Endpoint
from connectors.rocketmq_grpc.faults import fault_of, fault_of_call, is_done
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from rocketconnect_sdk.errors import ConnectorError, SystemAway


class Session:
    """A conversation with one endpoint.

    Args:
        client: Whose it is; to be closed after it.
        endpoint: The other side.
        settings: What the client is.

    Attributes:
        settings: The same, with what the server adds: whether a group is FIFO, how large a message may be.

    Raises:
        ConnectorError: the server does not take it.
    """

    def __init__(self, client: Client, endpoint: Endpoint, settings: pb.Settings) -> None:
        self._client = client
        self._endpoint = endpoint
        self._said: SimpleQueue[pb.TelemetryCommand | None] = SimpleQueue()
        self._said.put(pb.TelemetryCommand(settings=settings))
        self._heard: SimpleQueue[pb.TelemetryCommand | ConnectorError] = SimpleQueue()
        self._call = client.converse(endpoint, iter(self._said.get, None))
        self._reader = threading.Thread(target=self._listen, name="rocketmq-grpc-session", daemon=True)
        self._reader.start()
        try:
            self.settings = self._first()
        except BaseException:
            self.close()
            raise

    @property
    def has_ended(self) -> bool:
        """Whether the other side has ended it: a server that restarts, or that lets connections grow no older."""
        return not self._reader.is_alive()

    def beat(self) -> None:
        """Says that the client is there.

        Raises:
            ConnectorError: the server does not answer, or does not know the client any more.
        """
        request = pb.HeartbeatRequest(client_type=self.settings.client_type)
        if self.settings.subscription.group.name:
            request.group.CopyFrom(self.settings.subscription.group)
        answer = self._client.call(self._endpoint, "Heartbeat", request, pb.HeartbeatResponse)
        if not is_done(answer.status):
            raise fault_of(answer.status, self._client.place, "the client")

    def leave(self) -> None:
        """Says that the client ends, so that nothing is kept for it. Never raises."""
        request = pb.NotifyClientTerminationRequest()
        if self.settings.subscription.group.name:
            request.group.CopyFrom(self.settings.subscription.group)
        with suppress(ConnectorError):
            self._client.call(self._endpoint, "NotifyClientTermination", request, pb.NotifyClientTerminationResponse)

    def close(self) -> None:
        """Ends the conversation. Never raises."""
        self._said.put(None)
        self._call.cancel()
        self._reader.join(self._client.seconds)

    def _first(self) -> pb.Settings:
        try:
            heard = self._heard.get(timeout=self._client.seconds)
        except Empty:
            msg = f"{self._client.place}: the server does not answer within {self._client.seconds:g} s"
            raise SystemAway(msg) from None
        if isinstance(heard, ConnectorError):
            raise heard
        if heard.HasField("status") and not is_done(heard.status):
            raise fault_of(heard.status, self._client.place, "the client")
        return heard.settings

    def _listen(self) -> None:
        """Takes what the server says, of which only the first matters: the rest is for clients that show their threads."""
        is_first = True
        try:
            for command in self._call:
                if is_first and command.HasField("settings"):
                    is_first = False
                    self._heard.put(command)
        except grpc.RpcError as error:
            fault = fault_of_call(error, self._client.place)
        else:
            fault = SystemAway(f"{self._client.place}: the server has ended the conversation")
        if is_first:
            self._heard.put(fault)

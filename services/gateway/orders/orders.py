"""What people order that executors only prepare, or pass on: the gateway carries it out in their name, as no executor may.

An executor shows the others nothing, and creates no connector. So the gateway asks one which dead letters a replay is about, has
the config service create it, and brings a signal itself to every executor that runs a task.
"""

from collections.abc import Awaitable, Callable, Mapping

import grpc.aio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.calls.signals import Signals
from rocketconnect_kit.errors import DeadlineExceeded, Unavailable

Ask = Callable[[MethodDescriptor, Message], Awaitable[Message]]

_LETTERS = letters.DESCRIPTOR.services_by_name["DeadletterService"].methods_by_name
_CREATE = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name["CreateReplay"]
_SIGNAL_SECONDS = 20.0
"""So long a task may take to answer: it may be in the middle of a poll, or wait for its start."""


class Orders:
    """Carries out orders. For any number of tasks of one event loop at once.

    Args:
        ask: Asks a service, or any living executor; raises ServiceError.
        channels: To the services, by name.
        executors: Channels to executors.
        seconds: How long a signal may take.
    """

    def __init__(self, ask: Ask, channels: Mapping[str, grpc.aio.Channel], executors: Channels, seconds: float) -> None:
        self._ask = ask
        self._signals = Signals(StateServiceStub(channels["state"]), ClusterServiceStub(channels["cluster"]), executors)
        self._seconds = min(seconds, _SIGNAL_SECONDS)

    async def carried_out(self, request: Message) -> Message | None:
        """Return the answer to an order; None: the request is none, and any living executor answers it.

        Raises:
            ServiceError: what a service or an executor answered.
        """
        if isinstance(request, letters.ReplayDeadLettersRequest) and not request.dry_run:
            return await self._replay(request)
        if isinstance(request, executor.SignalConnectorRequest):
            return await self._signal(request)
        return None

    async def _signal(self, order: executor.SignalConnectorRequest) -> executor.SignalConnectorResponse:
        try:
            return await self._signals.tell(order, self._seconds)
        except (Unavailable, DeadlineExceeded) as error:
            # An error without a reason of ours comes from the channel: nobody answered.
            if error.reason != error.code:
                raise
            message = "the state or the cluster service, which know what runs where, does not answer; try again in a moment"
            raise Unavailable("SERVICE_AWAY", message) from error

    async def _replay(self, order: letters.ReplayDeadLettersRequest) -> letters.ReplayDeadLettersResponse:
        chosen = await self._ask(_LETTERS["ChooseReplay"], letters.ChooseReplayRequest(order=order))
        if not isinstance(chosen, letters.ChooseReplayResponse):
            msg = f"ChooseReplay answers {type(chosen).__name__}"
            raise TypeError(msg)
        answer = chosen.answer
        # Whatever an executor says of it.
        answer.ClearField("replay")
        if answer.count:
            create = config.CreateReplayRequest(order=order, letters=chosen.letters, ends=chosen.ends, count=answer.count)
            made = await self._ask(_CREATE, create)
            answer.replay = made.replay if isinstance(made, config.CreateReplayResponse) else ""
        return answer

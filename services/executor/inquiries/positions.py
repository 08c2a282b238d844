"""Checks of positions, and what stands for an edge or a time: asked in fresh host processes."""

from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, Unavailable
from services.executor import wire
from services.executor.contract.answers import PositionsChecked, PositionsResolved, PositionsUnknown
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.messages import Event
from services.executor.contract.questions import CheckPositions, Question, ResolvePositions
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate


class Places:
    """Answers for the executor service.

    Args:
        fresh: Where questions are answered.
        endpoints: Where the brokers are.
    """

    def __init__(self, fresh: FreshHosts, endpoints: Endpoints) -> None:
        self._fresh = fresh
        self._endpoints = endpoints

    async def check(self, request: pb.CheckPositionsRequest, seconds: float) -> pb.CheckPositionsResponse:
        """Say whether positions are possible.

        Raises:
            InvalidArgument: POSITION_INVALID: an offset is no JSON array of integers.
            Unavailable: POSITIONS_NOT_KNOWN.
        """
        question = CheckPositions(dict(request.config), wire.given_positions(request.positions), self._endpoints)
        answer = await self._ask(question, seconds, request.name)
        if not isinstance(answer, PositionsChecked):
            raise _not_known(answer)
        return wire.positions_checked(answer)

    async def resolve(self, request: pb.ResolvePositionsRequest, seconds: float) -> pb.ResolvePositionsResponse:
        """Say which positions stand for a place.

        Raises:
            InvalidArgument: POSITION_INVALID: there is no place in the request.
            Unavailable: POSITIONS_NOT_KNOWN.
        """
        edges: dict[record_pb2.Edge.ValueType, str] = {record_pb2.EDGE_EARLIEST: "earliest", record_pb2.EDGE_LATEST: "latest"}
        to: str | float | None = edges.get(request.edge)
        if to is None and request.HasField("time"):
            to = request.time.ToMicroseconds() / 1e6
        if to is None:
            problem = FieldProblem("edge", "", "is not given, and neither is a time", "give one of them")
            raise InvalidArgument("POSITION_INVALID", str(problem), [problem])
        question = ResolvePositions(dict(request.config), to, list(request.partitions), list(request.known), self._endpoints)
        answer = await self._ask(question, seconds, request.name)
        if not isinstance(answer, PositionsResolved):
            raise _not_known(answer)
        return wire.positions_resolved(answer)

    async def _ask(self, question: Question, seconds: float, connector: str) -> Event:
        try:
            return await self._fresh.ask(question, seconds, f"{connector} (positions)")
        except (PluginLate, PluginCrashed) as error:
            return PositionsUnknown(str(error))


def _not_known(answer: Event) -> Unavailable:
    why = answer.error if isinstance(answer, PositionsUnknown) else "the host process answered another question"
    return Unavailable("POSITIONS_NOT_KNOWN", f"nothing can be said of the positions: {why}")

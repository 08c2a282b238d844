"""From what is ordered to the connector that does it. Pure."""

from collections.abc import Sequence

from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters

from rocketconnect_kit.errors import FailedPrecondition, FieldProblem
from rocketconnect_sdk.letters.dead_letters import Filter, read_spans
from rocketconnect_sdk.letters.replays import DEAD_LETTER_TOPIC, Failed, Order, replay_config, replay_name
from rocketconnect_sdk.wording.counts import counted
from services.config.domain import Connector, Draft, WantedState


def problems(request: pb.CreateReplayRequest) -> Sequence[FieldProblem]:
    """Return what is wrong with what is told of letters."""
    found = []
    for field, given in (("letters", request.letters), ("ends", request.ends)):
        if not given:
            found.append(FieldProblem(field, "", "are missing", "let DeadletterService.ChooseReplay name them"))
        try:
            read_spans("", given)
        except ValueError as error:
            found.append(FieldProblem(field, "", str(error), "take them from DeadletterService.ChooseReplay"))
    if not request.order.request_id:
        found.append(FieldProblem("order.request_id", "", "is empty", "choose one, so that the same request is the same replay"))
    if request.order.stage not in letters.Stage.values():
        found.append(FieldProblem("order.stage", str(request.order.stage), "is no stage", "use one of the proto"))
    return found


def draft(failed: Connector, request: pb.CreateReplayRequest) -> Draft:
    """Return the connector that sends letters of another one again.

    Raises:
        FailedPrecondition: NO_DEAD_LETTER_TOPIC, NO_REPLAY_TARGET.
    """
    order, of = request.order, Failed(failed.name, failed.uid, str(failed.type), failed.config)
    if not failed.config.get(DEAD_LETTER_TOPIC):
        message = f"connector {failed.name!r} keeps no dead letters"
        raise FailedPrecondition("NO_DEAD_LETTER_TOPIC", message, connector=failed.name)
    if not (order.to or of.own_target):
        message = f"connector {failed.name!r} has no topic through which dead letters could come back; name one"
        raise FailedPrecondition("NO_REPLAY_TARGET", message, connector=failed.name)
    stage = letters.Stage.Name(order.stage).removeprefix("STAGE_").lower() if order.stage else ""
    wanted = Filter(failed.name, order.task if order.HasField("task") else None, stage, order.error)
    what = Order(wanted, order.to, order.if_newer, order.create_topic)
    name = replay_name(failed.name, order.request_id)
    # The name is of the request, so the same request finds what it has created.
    return Draft(name, replay_config(of, what, request.letters, request.ends), WantedState.RUNNING, name, "")


def told(made: Draft, count: int, by: str) -> str:
    """Return what the log of the connector that failed says of it."""
    return f"replay of {counted(count, 'dead letter')} to {made.config['topic']} by {by}: {made.name}"

"""What happened to a message, out of the contexts that its trace holds. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rocketmq_remoting.protocol.trace import ConsumptionBegan, ConsumptionEnded, Recalled, Sent, TraceContext, TransactionEnded


@dataclass(frozen=True, slots=True)
class Told:
    """A context, and the address of the client that wrote it."""

    context: TraceContext
    host: str


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to a message: see TraceStep of the protos. time_ms: 0: not known; took_ms: None: not known."""

    kind: str
    group: str
    client_host: str
    time_ms: int
    took_ms: int | None = None
    result: str = ""
    retries: int = 0
    store_host: str = ""
    message_type: str = ""


def steps(told: Iterable[Told]) -> list[Step]:
    """Return what happened to one message, the oldest first: each consumption once, where its begin or its end is told, or both."""
    found: list[Step] = []
    begun: dict[str, tuple[ConsumptionBegan, str]] = {}
    ended: dict[str, tuple[ConsumptionEnded, str]] = {}
    # A client that does not know whether it has told something tells it again.
    for each in dict.fromkeys(told):
        context, host = each.context, each.host
        match context:
            case Sent():
                found.append(_sent(context, host))
            case ConsumptionBegan():
                begun[context.request_id] = context, host
            case ConsumptionEnded():
                ended[context.request_id] = context, host
            case TransactionEnded():
                kind, store = "TRANSACTION_ENDED", context.store_host
                found.append(Step(kind, context.group, host, context.time_ms, result=context.state, store_host=store))
            case Recalled():
                found.append(Step("RECALLED", context.group, host, context.time_ms, result=_result(context.success)))
    found += _consumptions(begun, ended)
    return sorted(found, key=lambda step: step.time_ms)


def _sent(context: Sent, host: str) -> Step:
    return Step(
        "SENT",
        context.group,
        context.client_host or host,
        context.time_ms,
        context.cost_ms,
        _result(context.success),
        store_host=context.store_host,
        message_type=context.message_type,
    )


def _consumptions(
    begun: Mapping[str, tuple[ConsumptionBegan, str]], ended: Mapping[str, tuple[ConsumptionEnded, str]]
) -> Iterator[Step]:
    for request_id in dict.fromkeys([*begun, *ended]):
        step = Step("CONSUMED", "", "", 0)
        if request_id in ended:
            end, host = ended[request_id]
            began_ms = max(0, end.time_ms - end.cost_ms)
            step = replace(step, group=end.group, client_host=host, time_ms=began_ms, took_ms=end.cost_ms, result=end.result)
        if request_id in begun:
            began, host = begun[request_id]
            step = replace(step, group=began.group, client_host=host, time_ms=began.time_ms, retries=began.retries)
        yield step


def _result(success: bool) -> str:
    return "success" if success else "failed"

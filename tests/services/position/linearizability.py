"""Is a recorded history of concurrent calls one that a single position service, doing one call at a time, could have given?

The search is that of Wing and Gong, with Lowe's memory of the configurations that were tried. The specification is a model of its
own, written from the promises of the proto.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

NEVER = 1 << 62
"""The return time of a call whose outcome its caller does not know: it may happen at any time after the call, or not at all."""

Positions = tuple[tuple[str, int, str], ...]
"""Partition, incarnation and offset, by partition."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one client asked; `expected` as in CommitPositions."""

    kind: Literal["open", "commit", "alter", "list"]
    task: int = 0
    generation: int = 0
    epoch: int = 0
    partition: str = ""
    offset: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call with the times between which it happened, and what was answered; None: not known."""

    call: Call
    called: int
    returned: int
    answer: str | Positions | None


class Model(NamedTuple):
    """What one position service knows of one connector."""

    generation: int = 0
    fences: tuple[tuple[int, int, int, bool], ...] = ()
    """Task, generation, epoch, and whether commits are let in."""
    positions: Positions = ()
    floor: int = 0
    """The highest epoch of the generations before."""


def follow(model: Model, call: Call) -> tuple[Model, str | Positions]:  # noqa: PLR0911 - one answer for each outcome
    """Do a call, alone: the model after it, and the answer."""
    fences = {task: (generation, epoch, is_open) for task, generation, epoch, is_open in model.fences}
    positions = {partition: (incarnation, offset) for partition, incarnation, offset in model.positions}
    last = fences.get(call.task)
    match call.kind:
        case "open":
            is_newer = call.generation > model.generation
            floor = max([model.floor, *(epoch for _, epoch, _ in fences.values())]) if is_newer else model.floor
            if call.generation < model.generation or (last is not None and call.epoch < last[1]) or call.epoch <= floor:
                return model, "FENCED"
            fences[call.task] = (call.generation, call.epoch, True)
            after = Model(call.generation, _fences(fences), model.positions, floor)
            return after, model.positions
        case "commit":
            if last != (call.generation, call.epoch, True) or call.generation != model.generation:
                return model, "FENCED"
            incarnation, stored = positions.get(call.partition, (0, "none"))
            if stored != call.offset and call.expected not in {"", stored}:
                return model, "POSITION_MISMATCH"
            positions[call.partition] = (incarnation, call.offset)
            return model._replace(positions=_positions(positions)), "stored"
        case "alter":
            incarnation, _ = positions.get(call.partition, (0, ""))
            positions[call.partition] = (incarnation + 1, call.offset)
            shut = {task: (generation, epoch, False) for task, (generation, epoch, _) in fences.items()}
            return model._replace(fences=_fences(shut), positions=_positions(positions)), _positions(positions)
        case "list":
            return model, model.positions


def _fences(fences: dict[int, tuple[int, int, bool]]) -> tuple[tuple[int, int, int, bool], ...]:
    return tuple((task, *fence) for task, fence in sorted(fences.items()))


def _positions(positions: dict[str, tuple[int, str]]) -> Positions:
    return tuple((partition, *position) for partition, position in sorted(positions.items()))


def is_linearizable(history: Sequence[Operation]) -> bool:
    """Whether there is an order of the calls, each between its call and its return, in which all answers are right."""
    operations = sorted(history, key=lambda operation: operation.called)
    known = sum(1 << index for index, operation in enumerate(operations) if operation.answer is not None)
    tried: set[tuple[int, Model]] = set()
    waiting = [(0, Model())]
    while waiting:
        done, model = waiting.pop()
        if done & known == known:
            return True
        if (done, model) in tried:
            continue
        tried.add((done, model))
        open_until = NEVER + 1
        for index, operation in enumerate(operations):
            if done >> index & 1:
                continue
            if operation.called > open_until:
                # Something that had returned before this was called is not done yet.
                break
            open_until = min(open_until, operation.returned)
            after, answer = follow(model, operation.call)
            if operation.answer is None or operation.answer == answer:
                waiting.append((done | 1 << index, after))
    return False


def without_answer(operation: Operation) -> Operation:
    """The operation as its caller sees it when the answer is lost."""
    return replace(operation, returned=NEVER, answer=None)

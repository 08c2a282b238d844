"""What a few records become, step by step. Pure, but for what transforms do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.transforms.base import Record, Records, one_by_one
from rocketconnect_sdk.transforms.chain import Chain


@dataclass(frozen=True, slots=True)
class Seen:
    """A record behind one step.

    Attributes:
        step: The name of the step.
        plugin: What did it.
        record: The record; None: it was dropped, or `problem` says why there is none.
        problem: What is wrong with it; empty: nothing.
    """

    step: str
    plugin: str
    record: Record | None
    problem: str = ""


def trace(chain: Chain, records: Records) -> Mapping[int, Sequence[Seen]]:
    """By index what each step made of each record; behind a step that drops it, or can't change it, there are no more.

    Raises:
        SystemAway, RetriableError, PermanentError: of a transform.
    """
    seen: dict[int, list[Seen]] = {index: [] for index in records.indexes}
    runs: Sequence[Records] = [records]
    for step in chain.steps:
        # A step may change a record in place, and what was seen must stay.
        given = [replace(run) for run in runs if len(run)]
        before = [index for run in given for index in run.indexes]
        done = [step.run(run) for run in given]
        runs = [run for each in done for run in each.runs]
        after = dict(one_by_one(runs))
        failed = {index: each for one in done for index, each in one.failed.items()}
        for index in before:
            problem = f"{type(failed[index].error).__name__}: {failed[index].error}" if index in failed else ""
            seen[index].append(Seen(step.name, step.transform.name, after.get(index), problem))
    return seen

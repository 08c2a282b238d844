"""What a poll of a source gives, as batches that are worth their while."""

from collections.abc import Sequence
from typing import TypeAlias

from rocketconnect_sdk.record import SourceBatch

Polled: TypeAlias = SourceBatch | Sequence[SourceBatch] | None
"""What SourceTask.poll returns."""


def batches_of(polled: Polled) -> list[SourceBatch]:
    """The batches of a poll: in each partition in their order, and alike ones that follow each other there as one.

    So rows of many tables that come in turns make as many batches as there are tables. Between partitions there is no order.
    """
    if polled is None:
        return []
    if isinstance(polled, SourceBatch):
        return [polled]
    runs: list[list[SourceBatch]] = []
    last: dict[str, list[SourceBatch]] = {}
    for batch in polled:
        run = last.get(batch.partition)
        if run is not None and _are_alike(run[-1], batch):
            run.append(batch)
        else:
            run = last[batch.partition] = [batch]
            runs.append(run)
    return [SourceBatch.concat(run) for run in runs]


def _are_alike(first: SourceBatch, second: SourceBatch) -> bool:
    """Whether they can be one: the map of a batch belongs to its end, and columns are of all records or of none."""
    return (
        bool(len(first) and len(second))
        and first.resume is None
        and second.resume is None
        and type(first.values) is type(second.values)
        and (first.schema is second.schema or first.schema == second.schema)
        and (first.key_schema is second.key_schema or first.key_schema == second.key_schema)
        and (first.keys is None) == (second.keys is None)
        and (first.timestamps_ms is None) == (second.timestamps_ms is None)
        and (first.headers is None) == (second.headers is None)
        and (first.topics is None) == (second.topics is None)
        and (first.properties is None) == (second.properties is None)
    )

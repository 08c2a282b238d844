"""The transforms of a connector at work on batches of its source. Pure, but for what transforms do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rocketconnect_sdk.columns.compact import Column, Texts, picked
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.routes.allowed import Routes
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.base import Records, in_order, one_by_one
from rocketconnect_sdk.transforms.chain import Chain, StepFailed
from services.executor.runtime.errors.failure import Failure


def failure_of(failed: StepFailed, original: object) -> Failure:
    """Why a record can't go on that a step could not change.

    Args:
        failed: What the chain says.
        original: The record before the first step: its value, or the body of its message.
    """
    failure = Failure.of_value(Stage.TRANSFORM, failed.error, original, failed.transform)
    return replace(failure, message=f"transform {failed.step}: {failure.message}")


def of_source(chain: Chain, batch: SourceBatch, topic: str) -> list[SourceBatch]:
    """The batches that a batch becomes, each of one schema, in the order of its records: at least one, the last perhaps empty.

    Together they end where it ends, and each has its resume, which holds for the end of the last one. In the place of a value that
    could not be changed stands a Failure.

    Args:
        chain: The transforms.
        batch: Of the source. One without records only moves its position.
        topic: Of records that name none.

    Raises:
        SystemAway, RetriableError, PermanentError: of a transform; nothing was done.
        PermanentError: the batch has properties, which stand in the place of what transforms make of keys, times and headers.
    """
    if not chain or not len(batch):
        return [batch]
    if batch.properties is not None:
        names = ", ".join(step.name for step in chain.steps)
        msg = f"transforms={names} cannot change whole messages, which this source sends as they are: leave the option out"
        raise PermanentError(msg)
    aside: dict[int, object] = {}
    if not isinstance(batch.values, Texts | Column) and Rejected in set(map(type, batch.values)):
        aside = {index: value for index, value in enumerate(batch.values) if isinstance(value, Rejected)}
    records = _records(batch, topic)
    done = chain.run(records.take([index for index in range(len(batch)) if index not in aside]) if aside else records)
    aside.update({index: failure_of(failed, batch.values[index]) for index, failed in done.failed.items()})
    runs = _with(aside, records, done.runs) if aside else done.runs
    return list(_batches(batch, runs, aside))


class TopicRefused(RecordError):
    """A record names a topic to which it may not go."""


def of_topics(chain: Chain, batch: SourceBatch, routes: Routes) -> list[SourceBatch]:
    """As of_source; in the place of a value whose record names a topic that it may not go to stands a Failure, too."""
    return [_routed(routes, made) for made in of_source(chain, batch, routes.topic)]


def _routed(routes: Routes, batch: SourceBatch) -> SourceBatch:
    refused = {topic: why for topic in set(batch.topics or ()) if (why := routes.problem(topic))}
    if not refused or batch.topics is None:
        return batch
    values = list(batch.values)
    for index, topic in enumerate(batch.topics):
        if topic in refused and not isinstance(values[index], Rejected | Failure):
            values[index] = Failure.of_value(Stage.TRANSFORM, TopicRefused(refused[topic]), values[index], Routes)
    # Where a dead letter is sent when it is replayed is for its record no more to say.
    return replace(batch, values=values, topics=["" if topic in refused else topic for topic in batch.topics])


def _records(batch: SourceBatch, topic: str) -> Records:
    topics = None if batch.topics is None else [each or topic for each in batch.topics]
    return Records(
        batch.values,
        range(len(batch)),
        topic,
        batch.schema,
        batch.key_schema,
        batch.keys,
        batch.timestamps_ms,
        batch.headers,
        topics,
    )


def _with(aside: Mapping[int, object], records: Records, runs: Sequence[Records]) -> list[Records]:
    """With a tombstone in the place of each that is aside: it goes with what is around it."""
    placeholders = replace(records.take(sorted(aside)), values=[None] * len(aside)).each()
    return in_order([*one_by_one(runs), *zip(sorted(aside), placeholders, strict=True)])


def _batches(batch: SourceBatch, runs: Sequence[Records], aside: Mapping[int, object]) -> Iterator[SourceBatch]:
    if not runs:
        yield SourceBatch(batch.partition, [], [], end=batch.end or batch.offsets[-1], resume=batch.resume)
        return
    for run, following in pairwise([*runs, None]):
        if run is None:
            continue
        # What was left out behind a run is done when the run is.
        last = batch.end or batch.offsets[-1] if following is None else batch.offsets[following.indexes[0] - 1]
        yield SourceBatch(
            batch.partition,
            run.values if not aside else [aside.get(index, value) for index, value in zip(run.indexes, run.values, strict=True)],
            batch.offsets if len(run) == len(batch) else picked(batch.offsets, run.indexes),
            run.keys,
            run.timestamps_ms,
            run.headers,
            _topics(run),
            run.schema,
            run.key_schema,
            batch.size * len(run) // len(batch),
            end=last,
            resume=batch.resume,
        )


def _topics(run: Records) -> Sequence[str]:
    return [run.topic] * len(run) if run.topics is None else run.topics

"""What the transforms of a sink make of messages, before it runs. Pure."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import ConnectorError, Problem
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms import comes_with_the_sdk
from rocketconnect_sdk.transforms.base import Transform
from rocketconnect_sdk.transforms.chain import Chain, Step
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import DecodedBatch
from services.executor.host.jobs.chosen import Message
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings

_KEY = "transforms"
_SHOWN = 1000


def is_simple(chain: Chain) -> bool:
    """Whether it can be tried in passing: of steps that come with the SDK, start no process and ask nobody."""
    return all(map(_is_simple, chain.steps))


def _is_simple(step: Step) -> bool:
    kind = type(step.transform)
    # What has begun something has something to end.
    is_plain = comes_with_the_sdk(kind) and kind.close is Transform.close
    return is_plain and (step.predicate is None or comes_with_the_sdk(type(step.predicate)))


def failures(
    chain: Chain, converters: Sequence[Converter], topics: Mapping[str, Sequence[Message]], until: float
) -> Iterator[Problem]:
    """What a sink is to be warned of: messages that its converters read and its transforms cannot change.

    Args:
        chain: The transforms, which are simple.
        converters: Of keys and of values.
        topics: Messages by their topic, those of a queue in their order.
        until: No more of them are tried then, monotonic time.
    """
    key, value = converters
    tried = decoder(key, value, ErrorPolicy.of_nobody(), DecodeSettings(headers=True), chain)
    for topic, messages in topics.items():
        bad: list[BadRecord] = []
        count = 0
        for batch in _batches(messages):
            if count and time.monotonic() > until:
                break
            count += len(batch)
            try:
                parts = tried.decode(batch, None, batch.offsets[0], {}, time.monotonic(), {})
            except ConnectorError as error:
                yield _problem(chain, f"cannot be tried on messages of `{topic}`: {str(error)[:_SHOWN]}", "Correct the transform.")
                return
            bad += [each for part in parts for each in part.bad if each.failure.stage is Stage.TRANSFORM]
        if bad:
            failed = len({(each.queue, each.offset) for each in bad})
            reason = (
                f"cannot change {failed} of the newest {counted(count, 'message')} of `{topic}`: {bad[0].failure.message[:_SHOWN]}"
            )
            yield _problem(chain, reason, "Correct the transform, or errors.tolerance decides.")


def _problem(chain: Chain, reason: str, fix: str) -> Problem:
    return Problem(_KEY, ",".join(step.name for step in chain.steps), reason, fix, is_warning=True)


def _batches(messages: Sequence[Message]) -> Iterator[DecodedBatch]:
    """The messages as they were pulled, without what is before them there."""
    in_order = sorted(messages, key=lambda message: (message.queue, message.offset))
    for _, group in groupby(in_order, key=lambda message: id(message.batch)):
        of_one = list(group)
        yield of_one[0].batch.between(of_one[0].offset, of_one[-1].offset + 1)

"""Messages whose bodies are beside the topic get them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy

from rocketconnect_sdk.claim_check.bodies import Bodies, bodies_of
from rocketconnect_sdk.claim_check.claim import PROPERTY, Claim
from rocketconnect_sdk.claim_check.options import MOST, PREFIX, URL
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.numbered import NumberedProperties
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.sink.decode.origins import by_topic

_MARK = f"{PROPERTY}\x01".encode()
_REFERENCE = re.compile(rb"(?:(?<=\x02)|\A)RCCLAIM\x01[^\x02]*(?:\x02|\Z)")


class Claims:
    """Parts what was pulled, and gets the bodies that it refers to.

    A reference that leads to no body, or to another one than was meant, makes its message one that can't be read
    (`DecodedBatch.damaged`).

    Args:
        bodies: Where they are; None: nothing says that.
        most: A larger one is not read, in bytes.
        at_once: About how many bytes of them are held before they are handed on (invariant 7); one in any case.
    """

    def __init__(self, bodies: Bodies | None, most: int, at_once: int) -> None:
        self._bodies = bodies
        self._most = most
        self._at_once = at_once

    def parted(self, batch: DecodedBatch) -> Iterator[DecodedBatch]:
        """The messages in their order, each batch of one topic (see by_topic).

        Raises:
            SystemAway, RetriableError, PermanentError: what the trouble with the store means to the task.
        """
        for messages in by_topic(batch):
            if _may_refer(messages.raw_properties):
                yield from self._whole(messages)
            else:
                yield messages

    def _whole(self, batch: DecodedBatch) -> Iterator[DecodedBatch]:
        """The messages with their bodies, in batches of about so many bytes."""
        claims = [_claim(raw) for raw in batch.raw_properties]
        start, size = 0, 0
        for index, claim in enumerate(claims):
            # What is not read takes nothing.
            more = claim.size if isinstance(claim, Claim) and claim.size <= self._most else 0
            if size and size + more > self._at_once:
                yield self._resolved(batch.between(batch.offsets[start], batch.offsets[index]), claims[start:index])
                start, size = index, 0
            size += more
        yield self._resolved(batch.between(batch.offsets[start]), claims[start:])

    def _resolved(self, batch: DecodedBatch, claims: "Sequence[Claim | ValueError | None]") -> DecodedBatch:
        made = copy(batch)
        made.bodies, made.raw_properties, damaged = list(batch.bodies), list(batch.raw_properties), dict(batch.damaged)
        for index, claim in enumerate(claims):
            if claim is None:
                continue
            try:
                made.bodies[index] = self._body(claim)
            except RecordError as error:
                damaged[batch.offsets[index]] = error
                continue
            # What has its body is a message as any other, also as a dead letter.
            made.raw_properties[index] = _REFERENCE.sub(b"", batch.raw_properties[index])
        made.damaged = damaged
        return made

    def _body(self, claim: Claim | ValueError) -> bytes:
        if isinstance(claim, ValueError):
            msg = f"the property {PROPERTY} of the message is none of a claim check: {claim}"
            raise RecordError(msg)
        if self._bodies is None:
            where = f"set {URL.key} to where its source stores bodies"
            msg = f"the body is not in the message, but {claim.name} of a claim check: {where}"
            raise RecordError(msg)
        if claim.size > self._most:
            msg = f"the body {claim.name} has {counted(claim.size, 'byte')}, and {MOST.key} allows {self._most}"
            raise RecordError(msg)
        body = self._bodies.get(claim.name, claim.size)
        if body is None:
            msg = (
                f"the body {claim.name} is not where {URL.key} says: it was removed, or its source stores bodies elsewhere. It had "
                f"{counted(claim.size, 'byte')}"
            )
            raise RecordError(msg)
        if not claim.fits(body):
            msg = f"the body {claim.name} is not the one that was stored: its size or its SHA-256 is another one"
            raise RecordError(msg)
        return body


def parting(config: Config, *, whole: bool) -> Callable[[DecodedBatch], Iterable[DecodedBatch]]:
    """What parts the messages of a sink. `whole`: it takes them as they are, those that refer to bodies among them.

    Raises:
        HostRefused, PermanentError: see bodies_of.
    """
    if whole:
        return by_topic
    bodies = bodies_of(config.within(PREFIX)) if config[URL.key] else None
    return Claims(bodies, config[MOST.key], max(1 << 20, config["buffer.bytes"] // 4)).parted


def _may_refer(raws: Sequence[bytes]) -> bool:
    # Where they differ in a number only, all have the same names.
    return _MARK in (raws[0] if isinstance(raws, NumberedProperties) else b"".join(raws))


def _claim(raw: bytes) -> Claim | ValueError | None:
    text = decode_properties(raw).get(PROPERTY) if _MARK in raw else None
    try:
        return None if text is None else Claim.parse(text)
    except ValueError as error:
        return error

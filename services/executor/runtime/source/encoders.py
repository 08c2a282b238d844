"""What encodes the records of a source: one by one, many rows in a message, or large bodies beside the topic."""

import time
from collections.abc import Callable, Sequence

from rocketconnect_sdk.claim_check.bodies import Bodies, Expiry, bodies_of
from rocketconnect_sdk.claim_check.claim import PROPERTY, Claim
from rocketconnect_sdk.claim_check.options import MOST, PREFIX, RETENTION, THRESHOLD, URL
from rocketconnect_sdk.context import MAX_RECORD_BYTES
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import SourceTask
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES, encode_properties
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.source.encode import Encoder, Target
from services.executor.runtime.source.pieces import too_large
from services.executor.runtime.source.takeover import Found
from services.executor.runtime.task_runtime import TaskRuntime

_FREE_BYTES = 1_024
"""Of the properties of a message, for RCPOS and what a broker adds."""


class ClaimingEncoder(Encoder):
    """Stores bodies above a size beside the topic, each before the message that refers to it.

    A record that is encoded again is stored again under the same name, so exactly once stays as it is.

    Args:
        target: See Encoder.
        incarnation: See Encoder.
        found: See Encoder.
        bodies: Where bodies are stored.
        threshold: Larger ones are, in bytes.
        most: A larger one is a bad record.
        expiry: Removes old ones; None: nothing does.
        log: For people: (level, message).
    """

    def __init__(
        self,
        target: Target,
        incarnation: Callable[[str], int],
        found: Found,
        bodies: Bodies,
        *,
        threshold: int,
        most: int,
        expiry: Expiry | None,
        log: Callable[[str, str], None],
    ) -> None:
        super().__init__(target, incarnation, found)
        self._bodies = bodies
        self._threshold = threshold
        self._most = most
        self._expiry = expiry
        self._log = log

    def _fitted(
        self, batch: SourceBatch, bodies: Sequence[bytes], extras: Sequence[bytes] | None, failures: dict[int, Failure]
    ) -> tuple[Sequence[bytes], Sequence[bytes] | None]:
        if self._expiry is not None:
            self._expire(self._expiry)
        large = [index for index, body in enumerate(bodies) if len(body) > self._threshold and index not in failures]
        if not large:
            return bodies, extras
        small = list(bodies)
        said = list(extras) if extras is not None else [b""] * len(small)
        for index in large:
            body = small[index]
            claim = Claim.of(self._target.uid, batch.partition, self._incarnation(batch.partition), batch.offsets[index], body)
            mine = encode_properties({PROPERTY: claim.text})
            if len(body) > self._most or len(said[index]) + len(mine) > MAX_PROPERTIES_BYTES - _FREE_BYTES:
                failures[index] = too_large(body, self._most, ClaimingEncoder)
                continue
            self._bodies.put(claim.name, body)
            small[index] = claim.body
            said[index] += mine
        return small, said

    def _expire(self, expiry: Expiry) -> None:
        """Nothing depends on it: what is not removed now is another time."""
        try:
            removed = expiry.look(time.monotonic())
        except ConnectorError as error:
            self._log("WARNING", f"old bodies were not removed: {error}")
            return
        if removed:
            self._log("INFO", f"{removed} bodies were removed, as {RETENTION.key} says")


def _unheard(level: str, message: str) -> None:
    del level, message


def encoder(
    target: Target,
    incarnation: Callable[[str], int],
    found: Found,
    config: Config | None = None,
    log: Callable[[str, str], None] = _unheard,
) -> "Encoder":
    """What encodes for this target.

    Args:
        target: See Target.
        incarnation: Of a source partition.
        found: What is in the topic already.
        config: Of the connector, where large bodies may be stored beside the topic; None: nothing is stored.
        log: For people: (level, message).

    Raises:
        HostRefused, PermanentError: see bodies_of.
    """
    if isinstance(target.value, ArrowConverter):
        from services.executor.runtime.source.encode_rows import RowsEncoder

        return RowsEncoder(target, incarnation, found)
    if config is None or not config[URL.key]:
        return Encoder(target, incarnation, found)
    bodies = bodies_of(config.within(PREFIX))
    # One of the tasks is enough.
    expires = config[RETENTION.key] > 0 and target.task == 0
    expiry = Expiry(bodies, target.uid, config[RETENTION.key]) if expires else None
    return ClaimingEncoder(
        target, incarnation, found, bodies, threshold=config[THRESHOLD.key], most=config[MOST.key], expiry=expiry, log=log
    )


def target_of(runtime: TaskRuntime, task: SourceTask, queues: Callable[[str], Sequence[MessageQueue]]) -> Target:
    """What the records of a task are encoded for.

    Args:
        runtime: What every task has.
        task: The source's task.
        queues: Of a topic.
    """
    spec, config = runtime.spec, runtime.config
    key, value = runtime.converters()
    return Target(
        connector=spec.connector,
        uid=spec.connector_uid,
        task=spec.task,
        epoch=spec.epoch,
        topic=config["topic"],
        queues=queues,
        source=task,
        key=key,
        value=value,
        policy=runtime.policy,
        batch_bytes=config["batch.bytes"],
        batch_records=config["batch.records"],
        record_bytes=MAX_RECORD_BYTES,
    )

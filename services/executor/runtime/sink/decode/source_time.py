"""The source's time of a message. Pure; meant for the first and the last one of many, not for each."""

import re

from rocketmq_remoting.message import PulledMessage
from services.executor.runtime.rocketmq.properties import TIMESTAMP
from services.executor.runtime.rocketmq.source_marks import parse

_TIME = re.compile(rb"(?:^|\x02)" + re.escape(TIMESTAMP.encode()) + rb"\x01(-?\d{1,18})(?:\x02|\Z)")


def source_ms(message: PulledMessage) -> int | None:
    """When the source says that the record came to be, milliseconds since 1970; None: not known.

    A message of a source connector has the time that its source gave it, or none: when it was sent is not when it came to be.
    That of any other producer has the time at which the producer made it.
    """
    raw = message.raw_properties
    given = _TIME.search(raw)
    if given is not None:
        return int(given[1])
    return message.born_timestamp_ms if parse(raw) is None else None

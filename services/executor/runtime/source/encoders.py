"""What encodes the records of a source: one by one, or many rows in a message."""

from collections.abc import Callable

from rocketconnect_sdk.converters.arrow import ArrowConverter
from services.executor.runtime.source.encode import Encoder, Target
from services.executor.runtime.source.takeover import Found


def encoder(target: Target, incarnation: Callable[[str], int], found: Found) -> "Encoder":
    """What encodes for this target.

    Args:
        target: See Target.
        incarnation: Of a source partition.
        found: What is in the topic already.
    """
    if isinstance(target.value, ArrowConverter):
        from services.executor.runtime.source.encode_rows import RowsEncoder

        return RowsEncoder(target, incarnation, found)
    return Encoder(target, incarnation, found)

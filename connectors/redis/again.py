"""Records that were refused, read again from the form that their dead letters have."""

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.record import Offset, SourceBatch


def read_again(partition: str, original: bytes, offset: Offset) -> SourceBatch:
    """See Source.read_again: of JSON. What is none is a bad record once more."""
    value: object
    try:
        value, _ = converter("json", {"schemas.enable": "false"}, is_key=False).decode(original)
    except RecordError as error:
        value = rejected(type(error).__name__, str(error), original)
    return SourceBatch(partition, [value], [offset], size=len(original))

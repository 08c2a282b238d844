"""The options of sinks that say when a batch is closed; see FlushPolicy."""

from rocketconnect_sdk.options import Kind, Option

FLUSH_ROWS = Option(
    "flush.rows", "A batch is closed when it has so many records; 0: other limits decide.", Kind.INT, "0", minimum=0
)
FLUSH_BYTES = Option(
    "flush.bytes", "A batch is closed when its values have so many bytes; 0: other limits decide.", Kind.SIZE, "0", minimum=0
)


def flush_interval(default: str | None, note: str = "") -> Option:
    """How long a batch is open.

    Args:
        default: A duration; None: the note says what is so then.
        note: What people should know of it.
    """
    doc = " ".join(filter(None, ("A batch is closed so long after its first record.", note)))
    return Option("flush.interval", doc, Kind.DURATION, default, minimum=0)

"""Notes in each part what RocketMQ's message trace is to tell of its messages."""

from collections.abc import Mapping, Sequence

from rocketconnect_sdk.sink import SourceMark
from rocketmq_remoting.batch import DecodedBatch
from services.executor.runtime.rocketmq.message_trace import MessageTrace
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.part import Part


class NotingDecoder:
    """A decoder with notes; used by one thread."""

    def __init__(self, decoder: Decoder, trace: MessageTrace) -> None:
        self._decoder = decoder
        self._trace = trace

    def decode(
        self,
        batch: DecodedBatch,
        kept: Sequence[int] | None,
        start: int,
        marks: Mapping[str, SourceMark],
        now: float,
        before: Mapping[str, SourceMark],
    ) -> list[Part]:
        """See Decoder."""
        parts = self._decoder.decode(batch, kept, start, marks, now, before)
        noted = self._trace.note(batch, kept)
        for part in parts:
            part.noted = noted.within(part.start, part.until)
        return parts


Decodes = Decoder | NotingDecoder
"""What a sink task decodes with."""

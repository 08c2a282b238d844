"""Each record keeps its own time, or has none, whatever becomes of those around it."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.schema import BYTES, STRING
from rocketconnect_sdk.transforms import Record, Transform
from rocketconnect_sdk.transforms.chain import Chain, Step
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq.properties import TIMESTAMP, extras_of
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings
from services.executor.runtime.transforms import of_source

TIMES = st.none() | st.integers(-(10**13), 10**13)
KINDS = st.sampled_from(["keep", "drop", "bad", "bytes", "rejected", "take its time away", "set its time to 5"])
STORED = 1_000


class Timed(Transform):
    """Does what the value says."""

    name = "timed"

    def apply(self, record: Record) -> Record | None:
        match record.value:
            case "drop":
                return None
            case "bad":
                msg = "it is bad"
                raise ValueError(msg)
            case "bytes":
                return replace(record, value=b"bytes", schema=BYTES)
            case "take its time away":
                return replace(record, timestamp_ms=None)
            case "set its time to 5":
                return replace(record, timestamp_ms=5)
        return record


def chain() -> Chain:
    return Chain([Step("timed", Timed(parse(Timed.options, {})))])


def expected(kind: str, time: int | None) -> int | None:
    return {"take its time away": None, "set its time to 5": 5}.get(kind, time)


def sent(batch: SourceBatch) -> list[bytes]:
    extras, bad = extras_of(batch, None)
    assert bad == {}
    return [b""] * len(batch) if extras is None else list(extras)


@given(st.lists(st.tuples(KINDS, TIMES), min_size=1, max_size=12))
def test_a_record_without_a_time_costs_no_other_one_its_own(records: Sequence[tuple[str, int | None]]) -> None:
    rejected = Rejected("Bad", "it is bad", b"original", 8, "00")
    values = [rejected if kind == "rejected" else kind for kind, _ in records]
    offsets = [(index,) for index in range(len(records))]
    given_batch = SourceBatch("p", values, offsets, timestamps_ms=[time for _, time in records], schema=STRING, end=(99,))
    found = {}
    for batch in of_source(chain(), given_batch, "t"):
        for (offset,), raw in zip(batch.offsets, sent(batch), strict=True):
            found[offset] = decode_properties(raw).get(TIMESTAMP)
    wanted = {index: expected(*record) for index, record in enumerate(records) if record[0] != "drop"}
    assert found == {index: None if time is None else str(time) for index, time in wanted.items()}


@given(st.lists(st.tuples(KINDS.filter(lambda kind: kind != "rejected"), TIMES), min_size=1, max_size=12))
def test_a_sink_gets_the_time_of_each_event_and_where_it_has_none_when_its_message_was_stored(
    records: Sequence[tuple[str, int | None]],
) -> None:
    count = len(records)
    bodies = [kind.encode() for kind, _ in records]
    raws = sent(SourceBatch("p", bodies, [(index,) for index in range(count)], timestamps_ms=[time for _, time in records]))
    places = b"".join(bytes(28) + number.to_bytes(8, "big") + bytes(64) for number in range(count))
    source = Source(places, list(range(0, 100 * count, 100)))
    message_batch = DecodedBatch(MessageQueue("t", "b", 3), bodies, list(range(count)), raws, [STORED] * count, [source], count)
    policy = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=False, log_values=False)
    text = converter("string", {}, is_key=False)
    found: dict[int, int | None] = {}
    for part in decoder(text, text, policy, DecodeSettings(), chain()).decode(message_batch, None, 0, {}, 1.0, {}):
        found.update(zip(part.records.offsets, part.records.timestamps_ms or [None] * len(part.records), strict=True))
    there = [(index, kind, STORED if time is None else time) for index, (kind, time) in enumerate(records)]
    assert found == {index: expected(kind, time) for index, kind, time in there if kind not in {"drop", "bad"}}


@given(st.lists(st.lists(TIMES, min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_batches_that_are_cut_and_joined_keep_them(columns: Sequence[Sequence[int | None]], data: st.DataObject) -> None:
    batches = [
        SinkBatch("t/b/0", "t", list(times), range(len(times)), timestamps_ms=times if any(times) else None) for times in columns
    ]
    whole = SinkBatch.concat(batches)
    times = [time if batch.timestamps_ms else None for batch in batches for time in batch.values]
    assert list(whole.timestamps_ms or [None] * len(whole)) == times
    start, stop = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
    assert list(whole.slice(start, stop).timestamps_ms or [None] * (stop - start)) == times[start:stop]
    places = sorted(data.draw(st.sets(st.integers(0, len(whole) - 1))))
    assert list(whole.take(places).timestamps_ms or [None] * len(places)) == [times[place] for place in places]

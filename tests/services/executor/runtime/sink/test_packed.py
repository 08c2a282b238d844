"""Packed messages between source and sink, without a broker: every guarantee holds for each row."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import array_of, unpack, values_of
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import STRING, Schema
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.columnar.batches import columns_of
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings, Part
from services.executor.runtime.sink.duplicates import select
from services.executor.runtime.source.encode import Encoded, Target
from services.executor.runtime.source.encoders import encoder
from services.executor.runtime.source.takeover import Found
from tests.examples import some

QUEUE = MessageQueue("t", "b", 0)
ROW = parse_columns("id:int64, name")
BAD = Rejected("Bad", "it is bad", b"original", 8, "00")
ARROW, TEXT = (converter(name, {}, is_key=False) for name in ("arrow", "string"))


def policy(*, tolerant: bool = True, dead: str = "") -> ErrorPolicy:
    return ErrorPolicy(tolerant=tolerant, dead_letter_topic=dead, properties=True, log=False, log_values=False)


def rows(start: int, stop: int) -> list[object]:
    return [{"id": number, "name": f"n{number}"} for number in range(start, stop)]


def batch(values: Sequence[object], start: int = 0, schema: Schema | None = ROW, **columns: Any) -> SourceBatch:
    return SourceBatch("p", values, [(start + number,) for number in range(1, len(values) + 1)], schema=schema, **columns)


def encode(
    given: SourceBatch,
    *,
    queues: int = 1,
    epoch: int = 5,
    tolerant: bool = True,
    dead: str = "",
    batch_bytes: int = 1 << 20,
    record_bytes: int = 1 << 21,
    there: Mapping[int, Offset] = {},
) -> Encoded:
    target = Target(
        connector="c",
        uid="u",
        task=0,
        epoch=epoch,
        topic="t",
        queues=lambda topic: [MessageQueue(topic, "b", number) for number in range(queues)],
        source=None,
        key=TEXT,
        value=ARROW,
        policy=policy(tolerant=tolerant, dead=dead),
        batch_bytes=batch_bytes,
        batch_records=1_000,
        record_bytes=record_bytes,
    )
    found = Found({MessageQueue("t", "b", number): {"u/p": (2, offset)} for number, offset in there.items()}, {})
    return encoder(target, lambda _: 2, found).encode(given, 1.0)


def stored(*sent: Encoded, start: int = 100) -> DecodedBatch:
    """The messages of a queue that holds what was sent, in this order."""
    pieces = [piece for encoded in sent for piece in encoded.pieces if piece.queue == QUEUE]
    bodies = [body for piece in pieces for body in piece.bodies]
    raws = [raw for piece in pieces for raw in piece.properties]
    return pulled(bodies, raws, start)


def pulled(bodies: Sequence[bytes], raws: Sequence[bytes], start: int = 100) -> DecodedBatch:
    data = b"".join(bytes(28) + number.to_bytes(8, "big") + bytes(64) for number in range(len(bodies)))
    source = Source(data, list(range(0, len(data), 100)))
    offsets = list(range(start, start + len(bodies)))
    return DecodedBatch(QUEUE, list(bodies), offsets, list(raws), [1_000] * len(bodies), [source], len(bodies))


def read(
    found: DecodedBatch, marks: Mapping[str, SourceMark] = {}, *, tolerant: bool = True, wanted: DecodeSettings | None = None
) -> list[Part]:
    kept, moved, _ = select(found.raw_properties, marks)
    reader = decoder(TEXT, ARROW, policy(tolerant=tolerant), wanted or DecodeSettings(headers=True), Chain([]))
    parts = reader.decode(found, kept, found.offsets[0], moved, 1.0, marks)
    assert [part.start for part in parts] == [found.offsets[0], *(part.until for part in parts[:-1])]
    return parts


def written(parts: Sequence[Part]) -> list[object]:
    return [value for part in parts for value in part.records.values]


def marks_after(parts: Sequence[Part]) -> dict[str, SourceMark]:
    return {key: mark for part in parts for key, mark in part.marks.items()}


def test_rows_of_a_partition_become_one_message_whose_place_is_that_of_the_last() -> None:
    encoded = encode(batch(rows(0, 3)))
    (piece,) = encoded.pieces
    assert (piece.records, len(piece), list(piece.offsets)) == (3, 1, [(3,)])
    assert decode_properties(piece.properties[0]) == {"RCPOS": "u|5|p|2|3"}
    (part,) = read(stored(encoded))
    assert list(part.records.values) == rows(0, 3)
    assert (part.start, part.until, part.read, part.duplicates) == (100, 101, 3, 0)
    assert (list(part.records.offsets), list(part.records.rows or ())) == ([100] * 3, [0, 1, 2])
    assert part.marks == {"u/p": SourceMark(5, 2, (3,))}
    assert part.records.schema == ROW


def test_columns_go_from_source_to_sink_as_they_are() -> None:
    column = Column(array_of(rows(0, 3), ROW)[0])
    (part,) = read(stored(encode(batch(column))), wanted=DecodeSettings(array=to_array))
    assert part.array == column.array
    table = columns_of(part, ("value", "key", "topic", "queue", "offset", "row", "timestamp"))
    assert table.column("row").to_pylist() == [0, 1, 2]
    assert table.column("value").to_pylist() == rows(0, 3)


def test_many_rows_are_cut_into_messages_of_about_the_size_of_a_batch() -> None:
    encoded = encode(batch(rows(0, 5_000)), batch_bytes=20_000)
    assert encoded.batch.open_pieces == len(encoded.pieces) > 5
    assert all(len(body) < 30_000 for piece in encoded.pieces for body in piece.bodies)
    assert written(read(stored(encoded))) == rows(0, 5_000)


def test_no_message_is_larger_than_a_record_may_be() -> None:
    long = [{"id": number, "name": "x" * (100_000 if number % 10 == 0 else 1)} for number in range(20)]
    encoded = encode(batch(long), batch_bytes=1 << 20, record_bytes=150_000)
    assert all(len(body) <= 150_000 for piece in encoded.pieces for body in piece.bodies)
    assert written(read(stored(encoded))) == long


@pytest.mark.parametrize("dead", ["", "dlq"])
def test_a_bad_row_is_left_out_by_itself(dead: str) -> None:
    values = [*rows(0, 2), BAD, {"id": "no number", "name": ""}, {"id": 4, "name": "x" * 5_000}, None, *rows(6, 8)]
    encoded = encode(batch(values), dead=dead, record_bytes=4_000)
    assert set(encoded.failures) == {2, 3, 4}
    assert [encoded.failures[index].error for index in (2, 3, 4)] == ["Bad", "RecordError", "RecordTooLarge"]
    assert written(read(stored(encoded))) == [*rows(0, 2), None, *rows(6, 8)]
    letters = [piece for piece in encoded.pieces if piece.dead]
    assert sum(map(len, letters)) == (3 if dead else 0)
    assert all(body for piece in letters for body in piece.bodies)


def test_without_tolerance_what_is_before_the_bad_row_goes() -> None:
    encoded = encode(batch([*rows(0, 2), BAD, *rows(3, 5)]), tolerant=False)
    assert (encoded.count, encoded.batch.end) == (2, (2,))
    assert encoded.error is not None
    assert written(read(stored(encoded))) == rows(0, 2)


def test_values_without_a_schema_are_bad_records() -> None:
    encoded = encode(batch([{"a": 1}, {"a": 2}], schema=None), dead="dlq")
    assert len(encoded.failures) == 2
    assert all(piece.dead for piece in encoded.pieces)


def test_whole_messages_of_a_source_cannot_be_packed() -> None:
    with pytest.raises(PermanentError, match="bytes"):
        encode(batch(["a"], schema=STRING, properties=[{}]))


def test_rows_with_keys_are_dealt_into_one_message_for_each_queue() -> None:
    keys = [f"k{number % 7}" for number in range(50)]
    encoded = encode(batch(rows(0, 50), keys=keys), queues=4)
    assert len(encoded.pieces) == len({piece.queue for piece in encoded.pieces}) > 1
    found: dict[str, list[object]] = {}
    for piece in encoded.pieces:
        (part,) = read(pulled(piece.bodies, piece.properties))
        for key, value in zip(part.records.keys or (), part.records.values, strict=True):
            found.setdefault(str(key), []).append(value)
    # Invariant 4: in order for each key.
    assert found == {
        f"k{number}": [value for value, key in zip(rows(0, 50), keys, strict=True) if key == f"k{number}"] for number in range(7)
    }


def test_keys_times_headers_and_topics_of_rows_come_along() -> None:
    encoded = encode(
        batch(
            rows(0, 3),
            keys=["k", None, "l"],
            timestamps_ms=[7, 8, None],
            headers=[{"h": "1"}, {}, {}],
            topics=["", "other", ""],
        )
    )
    assert [(piece.queue.topic, piece.records) for piece in encoded.pieces] == [("t", 2), ("other", 1)]
    (part,) = read(stored(encoded))
    assert (list(part.records.keys or ()), list(part.records.timestamps_ms or ())) == (["k", "l"], [7, 1_000])
    assert [dict(each).get("h") for each in part.records.headers or ()] == ["1", None]


CUTS = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def cut(first: int, sizes: Sequence[int], epoch: int, last: int) -> list[Encoded]:
    """What a source sends that begins at a row and reads so many at once."""
    found = []
    for size in sizes:
        stop = min(first + size, last)
        if stop > first:
            found.append(encode(batch(rows(first, stop), first), epoch=epoch))
        first = max(first, stop)
    return found


@given(CUTS, CUTS, st.integers(0, 60), st.integers(0, 5), st.integers(1, 4))
@settings(max_examples=some(300), deadline=None)
def test_what_a_zombie_sent_and_its_successor_cut_otherwise_arrives_once(
    zombie: list[int], successor: list[int], back: int, late: int, pulls: int
) -> None:
    """The successor begins at a row in the midst of what is there; the last messages of the zombie come behind its first ones."""
    old = cut(0, zombie, 5, sum(zombie))
    begin = max(0, sum(zombie) - back)
    new = cut(begin, [*successor, 1_000], 6, 400)
    late = min(late, len(old) - 1)
    queue = [*old[: len(old) - late], *new[:1], *old[len(old) - late :], *new[1:]]
    everything = stored(*queue)
    missing = any(part for part in old[len(old) - late :]) and late
    marks: dict[str, SourceMark] = {}
    found: list[object] = []
    step = -(-len(everything) // pulls)
    for first in range(0, len(everything), step):
        parts = read(everything.between(100 + first, 100 + first + step), marks)
        marks |= marks_after(parts)
        found += written(parts)
    ids = [value["id"] for value in found if isinstance(value, dict)]
    assert ids == sorted(set(ids))
    if not missing:
        assert ids == list(range(400))


def test_the_sink_trims_rows_up_to_its_mark() -> None:
    found = stored(encode(batch(rows(0, 10))), encode(batch(rows(4, 14), 4), epoch=6))
    parts = read(found, {"u/p": SourceMark(5, 2, (2,))})
    assert written(parts) == rows(2, 14)
    assert [(part.duplicates, part.read) for part in parts] == [(2, 10), (6, 10)]
    assert list(parts[0].records.rows or ()) == list(range(2, 10))
    assert parts[1].marks == {"u/p": SourceMark(6, 2, (14,))}


def test_a_mark_of_an_earlier_incarnation_trims_nothing() -> None:
    assert written(read(stored(encode(batch(rows(0, 5)))), {"u/p": SourceMark(5, 1, (3,))})) == rows(0, 5)


def test_doubles_alone_move_the_position() -> None:
    (part,) = read(stored(encode(batch(rows(0, 3)))), {"u/p": SourceMark(5, 2, (9,))})
    assert (part.start, part.until, part.duplicates, len(part.records)) == (100, 101, 1, 0)


@pytest.mark.parametrize("mark", [(), (2,), (5,), (10,)])
def test_a_new_owner_sends_only_rows_above_what_is_in_the_queue(mark: Offset) -> None:
    encoded = encode(batch(rows(0, 10)), there={0: mark})
    seen = mark[0] if mark else 0
    assert encoded.duplicates == seen
    assert [value for piece in encoded.pieces for body in piece.bodies for value in values_of(unpack(body))] == rows(seen, 10)
    assert (encoded.count, encoded.batch.end, encoded.batch.open_pieces) == (10, (10,), int(seen < 10))


def test_a_message_that_is_no_arrow_is_bad_as_it_is() -> None:
    good = stored(encode(batch(rows(0, 3))))
    found = pulled([good.bodies[0], b"no arrow", b"", good.bodies[0]], [good.raw_properties[0], b"", b"", b""])
    parts = read(found)
    assert written(parts) == [*rows(0, 3), *rows(0, 3)]
    assert [(bad.offset, bad.row, bad.failure.original) for part in parts for bad in part.bad] == [
        (101, None, b"no arrow"),
        (102, None, b""),
    ]
    assert parts[-1].until == 104


def test_without_tolerance_the_position_stays_before_the_bad_message() -> None:
    good = stored(encode(batch(rows(0, 3))))
    parts = read(pulled([good.bodies[0], b"no arrow"], [good.raw_properties[0], b""]), tolerant=False)
    assert written(parts) == rows(0, 3)
    assert parts[-1].until == 101
    assert "offset 101" in str(parts[-1].error)


def test_a_bad_row_in_a_message_is_told_by_its_number_and_kept_alone() -> None:
    encoded = encode(batch(rows(0, 3), keys=["a", "b", "c"]))
    raw = decoder(converter("json", {}, is_key=True), ARROW, policy(), DecodeSettings(), Chain([]))
    found = stored(encoded)
    (part,) = raw.decode(found, None, 100, {}, 1.0, {})
    assert [bad.row for bad in part.bad] == [0, 1, 2]
    assert part.bad[1].place == "queue t/b/0, offset 100, row 1"
    assert part.bad[1].beyond == ""
    kept = unpack(part.bad[1].failure.original)
    assert values_of(kept) == rows(1, 2)
    assert values_of(unpack(ARROW.alone(found.bodies[0], 2))) == rows(2, 3)
    assert [name in part.bad[1].failure.original for name in (b"n0", b"n1", b"n2")] == [False, True, False]
    assert [name in ARROW.alone(found.bodies[0], 2) for name in (b"n0", b"n1", b"n2")] == [False, False, True]


def test_the_replay_of_rows_is_not_trimmed_by_the_marks_of_the_replay() -> None:
    whole = stored(encode(batch(rows(0, 5))))
    replayed = pulled([whole.bodies[0], ARROW.alone(whole.bodies[0], 0)], [b"RCPOS\x01r|1|q|0|4\x02", b"RCPOS\x01r|1|q|0|5\x02"])
    assert written(read(replayed, {"r/q": SourceMark(1, 0, (3,))})) == [*rows(0, 5), *rows(0, 1)]


def test_a_refused_message_is_halved_until_the_row_is_found() -> None:
    target_rows = encode(batch(rows(0, 4)))
    encoding = encoder_of()
    (piece,) = target_rows.pieces
    halves = encoding.halves(piece)
    assert [half.records for half in halves] == [2, 2]
    assert [list(half.offsets) for half in halves] == [[(2,)], [(4,)]]
    (single, _) = encoding.halves(halves[0])
    assert not encoding.halves(single)
    assert [name in single.bodies[0] for name in (b"n0", b"n1", b"n2", b"n3")] == [True, False, False, False]


def encoder_of() -> Any:
    target = Target(
        connector="c",
        uid="u",
        task=0,
        epoch=5,
        topic="t",
        queues=lambda _: [QUEUE],
        source=None,
        key=TEXT,
        value=ARROW,
        policy=policy(),
        batch_bytes=1 << 20,
        batch_records=1_000,
        record_bytes=1 << 21,
    )
    return encoder(target, lambda _: 2, Found({}, {}))

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, struct
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import encode_properties
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.columnar.batches import columns_of, spark_array
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings, Part

QUEUE = MessageQueue("t", "b", 3)
MARKS = {"c/p": SourceMark(1, 0, (9,))}


class FirstByte(Converter):
    """Bytes that begin with "b" are bytes, others text; "x" is bad."""

    name = "first-byte"

    def encode(self, value: object, schema: Schema | None) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        if data == b"x":
            msg = "an x"
            raise RecordError(msg)
        return (data, BYTES) if data.startswith(b"b") else (data.decode(), STRING)


def pulled(bodies: Sequence[bytes], properties: Sequence[dict[str, str]] = (), start: int = 100) -> DecodedBatch:
    raws = [encode_properties(each) for each in properties] or [b""] * len(bodies)
    # Stored one behind the other, every field 0 but the place in the broker's log.
    stored = b"".join(bytes(28) + number.to_bytes(8, "big") + bytes(64) for number in range(len(bodies)))
    source = Source(stored, list(range(0, len(stored), 100)))
    return DecodedBatch(
        QUEUE, list(bodies), list(range(start, start + len(bodies))), raws, [1_000] * len(bodies), [source], len(bodies)
    )


def decode(
    batch: DecodedBatch,
    kept: Sequence[int] | None = None,
    *,
    tolerant: bool = True,
    value: Converter | None = None,
    wanted: DecodeSettings = DecodeSettings(headers=True),  # noqa: B008
) -> list[Part]:
    policy = ErrorPolicy(tolerant=tolerant, dead_letter_topic="", properties=True, log=False, log_values=False)
    text = converter("string", {}, is_key=False)
    return decoder(text, value or text, policy, wanted, Chain([])).decode(batch, kept, batch.offsets[0], MARKS, 1.0, {})


def test_doubles_are_left_out_and_the_range_is_whole() -> None:
    (part,) = decode(pulled([b"a", b"b", b"c"]), [0, 2])
    assert (part.queue, part.start, part.until, part.read, part.duplicates) == ("t/b/3", 100, 103, 3, 1)
    assert (part.records.values, part.records.offsets) == (["a", "c"], [100, 102])
    assert part.marks == MARKS


@pytest.mark.parametrize("name", ["string", "json"])
def test_packed_rows_before_another_converter_are_told_with_the_one_that_reads_them(name: str) -> None:
    packed = Rows(*array_of([{"n": 1}], struct([("n", Schema(Type.INT64))])), offsets_of([(1,)])).pack()
    (part,) = decode(pulled([packed, b'{"schema":null,"payload":7}']), value=converter(name, {}, is_key=False))
    (bad,) = part.bad
    assert bad.failure.message == (
        "the message holds rows that value.converter=arrow packed, which no other converter reads: set value.converter=arrow here, "
        "too"
    )
    assert len(part.records) == 1


def test_a_range_of_doubles_alone_still_moves_the_position() -> None:
    (part,) = decode(pulled([b"a", b"b"]), [])
    assert (part.start, part.until, len(part.records), part.duplicates, part.marks) == (100, 102, 0, 2, MARKS)


@pytest.mark.parametrize(("body", "kept"), [(b"a", []), (b"x", None)], ids=["duplicates alone", "the first one bad"])
def test_a_range_of_which_nothing_goes_on_has_empty_columns_where_the_engine_wants_columns(
    body: bytes, kept: list[int] | None
) -> None:
    (part,) = decode(pulled([body]), kept, tolerant=False, value=_first_byte(), wanted=DecodeSettings(headers=True, array=to_array))
    assert columns_of(part, ("value", "key", "topic", "queue", "offset", "timestamp", "headers")).num_rows == 0


def test_bad_messages_are_told_and_the_others_go_on() -> None:
    (part,) = decode(pulled([b"a", b"x", b"c"]), value=_first_byte())
    assert part.records.values == ["a", "c"]
    assert [(bad.offset, bad.failure.original) for bad in part.bad] == [(101, b"x")]
    assert (part.read, part.until, part.error) == (3, 103, None)


@pytest.mark.parametrize("tolerant", [True, False])
@pytest.mark.parametrize("packed", [False, True], ids=["messages", "packed messages"])
def test_what_cannot_be_read_from_a_message_is_bad_though_a_converter_could_take_it(*, tolerant: bool, packed: bool) -> None:
    batch = pulled([b"packed", b"a"])
    batch.damaged = {100: ProtocolError("cut short")}
    value = converter("arrow", {}, is_key=False) if packed else None
    parts = decode(batch, value=value, tolerant=tolerant)
    bad = [(record.offset, record.failure.original, record.failure.message) for part in parts for record in part.bad]
    if tolerant:
        assert bad[0] == (100, b"packed", "cut short")
        assert [part.until for part in parts][-1] == 102
    else:
        assert (parts[-1].until, bad) == (100, [])
        assert "offset 100: convert: ProtocolError: cut short" in str(parts[-1].error)


def test_without_tolerance_the_part_ends_before_the_first_bad_message() -> None:
    (part,) = decode(pulled([b"a", b"x", b"c"]), value=_first_byte(), tolerant=False)
    assert (part.records.values, part.until, part.bad, part.marks) == (["a"], 101, [], {})
    assert "offset 101" in str(part.error)
    assert "`rocketconnect position set NAME t/b/3=102 --restart`" in str(part.error)
    (first,) = decode(pulled([b"x", b"c"]), value=_first_byte(), tolerant=False)
    assert (len(first.records), first.start, first.until) == (0, 100, 100)


def test_marks_stand_with_the_part_whose_messages_have_moved_them() -> None:
    places = [{"RCPOS": f"c|1|p|0|{number}"} for number in range(5)]
    batch = pulled([b"a", b"b1", b"b2", b"x", b"c"], places)
    first, second = decode(batch, value=_first_byte(), tolerant=False)
    assert first.marks == {"c/p": SourceMark(1, 0, (0,))}
    assert second.marks == {"c/p": SourceMark(1, 0, (2,))}
    first, second, third = decode(batch, value=_first_byte())
    assert (first.marks, second.marks) == ({"c/p": SourceMark(1, 0, (0,))}, {"c/p": SourceMark(1, 0, (3,))})
    assert third.marks == MARKS


def test_a_change_of_the_schema_makes_another_part_and_no_offset_is_left_out() -> None:
    parts = decode(pulled([b"a", b"b1", b"x", b"b2", b"c"]), value=_first_byte())
    assert [(part.start, part.until, list(part.records.values), part.records.schema) for part in parts] == [
        (100, 101, ["a"], STRING),
        (101, 104, [b"b1", b"b2"], BYTES),
        (104, 105, ["c"], STRING),
    ]
    assert [len(part.bad) for part in parts] == [0, 1, 0]
    assert [part.marks for part in parts] == [{}, {}, MARKS]


def test_keys_times_headers_and_tombstones_come_from_the_properties() -> None:
    properties = [
        {"KEYS": "k", "connect-ext-a": "1", "connect.timestamp": "77", "UNIQ_KEY": "u", "RCPOS": "c|1|p|0|1"},
        {"connect-key-base64": "/w==", "mine": "2"},
        {"connect-tombstone": "1", "connect-key-base64": "="},
    ]
    parts = decode(pulled([b"a", b"b", b""], properties))
    (bad,) = parts[0].bad
    assert bad.offset == 101
    assert parts[0].records.values == ["a", None]
    assert parts[0].records.keys == ["k", ""]
    assert parts[0].records.timestamps_ms == [77, 1_000]
    assert parts[0].records.headers == [
        {"KEYS": "k", "a": "1", "MQ-SYS-UNIQ_KEY": "u", "MQ-SYS-MSG_ID": "u"},
        {"MQ-SYS-MSG_ID": f"{2:032X}"},
    ]


def test_a_message_is_known_by_the_id_that_its_producer_gave_it_or_else_by_its_place_in_the_broker() -> None:
    (part,) = decode(pulled([b"a", b"b", b"c"], [{"x": "1"}, {"UNIQ_KEY": "u"}, {"x": "3"}]), [1, 2])
    assert [headers["MQ-SYS-MSG_ID"] for headers in part.records.headers or ()] == ["u", f"{2:032X}"]


def test_without_keys_or_times_there_are_no_such_columns() -> None:
    (part,) = decode(pulled([b"a"]), wanted=DecodeSettings(timestamps=False))
    assert (part.records.keys, part.records.timestamps_ms, part.records.headers) == (None, None, None)


def test_an_engine_that_wants_arrays_gets_one_for_each_part() -> None:
    parts = decode(pulled([b"a", b"b1", b"x", b"c"]), value=_first_byte(), wanted=DecodeSettings(array=to_array))
    assert [part.array.to_pylist() for part in parts] == [["a"], [b"b1"], ["c"]]


def _first_byte() -> Converter:
    from rocketconnect_sdk.options import Config

    return FirstByte(Config({}, {}), is_key=False)


ROWS = parse_columns("id:int64, name")
AS_ROWS = DecodeSettings(array=partial(spark_array, ROWS), rows_as=ROWS)
JSON = converter("json", {"schemas.enable": "false"}, is_key=False)


@pytest.mark.parametrize("second", [b'{"id": 2, "name": null}', b'{"name": null, "id": 2, "more": [1]}'])
def test_objects_without_a_schema_become_rows_of_the_columns_that_the_sink_has_at_once_or_one_by_one(second: bytes) -> None:
    (part,) = decode(pulled([b'{"id":1,"name":"a"}', second]), value=JSON, wanted=AS_ROWS)
    assert part.array.to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert part.records.schema is None
    assert len(part.records) == 2


@pytest.mark.parametrize("body", [b"[1]", b'{"id": "x"}', b"5", b"no json"])
def test_what_is_no_row_of_the_columns_is_a_bad_record_with_its_bytes(body: bytes) -> None:
    (part,) = decode(pulled([b'{"id":1}', body, b'{"id":3}']), value=JSON, wanted=AS_ROWS)
    assert part.array.to_pylist() == [{"id": 1, "name": None}, {"id": 3, "name": None}]
    assert [(bad.offset, bad.failure.original, bad.failure.stage) for bad in part.bad] == [(101, body, Stage.CONVERT)]


def test_a_null_is_a_row_of_nulls() -> None:
    (part,) = decode(pulled([b"null", b'{"id":1}']), value=JSON, wanted=AS_ROWS)
    assert part.array.to_pylist() == [{"id": None, "name": None}, {"id": 1, "name": None}]


def test_the_time_of_a_record_is_that_which_its_source_gave_it_and_no_other() -> None:
    mark = {"RCPOS": "c|1|p|0|9"}
    (part,) = decode(pulled([b"a", b"b", b"c"], [{"connect.timestamp": str(time), **mark} for time in (10, 20, -30)]))
    assert (part.first_ms, part.last_ms) == (10, -30)
    (part,) = decode(pulled([b"a", b"b"], [{"connect.timestamp": "10", **mark}, {**mark, "my-connect.timestamp": "7"}]))
    assert (part.first_ms, part.last_ms) == (10, None)


def test_the_time_of_a_record_of_another_producer_is_when_that_made_it() -> None:
    batch = pulled([b"a", b"b"])
    (part,) = decode(batch)
    assert (part.first_ms, part.last_ms) == (batch[0].born_timestamp_ms, batch[1].born_timestamp_ms)


@pytest.mark.parametrize(("times", "expected"), [([5, 6, 7], (5, 7)), ([5, 6, None], (5, None)), (None, (None, None))])
def test_the_time_of_a_packed_row_is_its_own(times: list[int | None] | None, expected: tuple[int | None, int | None]) -> None:
    rows = Rows(*array_of([{"n": 1}] * 3, struct([("n", Schema(Type.INT64))])), offsets_of([(1,), (2,), (3,)]))
    if times is not None:
        rows = replace(rows, timestamps_ms=pa.array(times, pa.int64()))
    (part,) = decode(pulled([rows.pack()], [{"RCPOS": "c|1|p|0|3"}]), value=converter("arrow", {}, is_key=False))
    assert (part.first_ms, part.last_ms) == expected


def test_doubles_and_bad_records_have_no_time() -> None:
    batch = pulled([b"a", b"x", b"c"], [{"connect.timestamp": str(time), "RCPOS": "c|1|p|0|9"} for time in (1, 2, 3)])
    parts = decode(batch, [1, 2], value=_first_byte())
    assert [(part.first_ms, part.last_ms) for part in parts] == [(3, 3)]
    parts = decode(batch, [1], value=_first_byte())
    assert [(part.first_ms, part.last_ms) for part in parts] == [(None, None)]


def test_when_the_message_before_a_part_was_stored_is_not_known_where_a_filter_left_it_out() -> None:
    """That of the last one that was read is another message's, and the queue would look like one that was made anew."""
    batch = pulled([b"a", b"b1", b"b2"])
    batch.offsets[1:] = [105, 109]
    text, binary = decode(batch, value=_first_byte())
    assert (text.until, text.stored_ms) == (105, 0)
    assert (binary.until, binary.stored_ms) == (110, 1_000)

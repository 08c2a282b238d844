"""Messages with several records each, or none, without a broker: a message moves as a whole, a bad record is bad alone."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.transforms import Record, Transform
from rocketconnect_sdk.transforms.chain import Chain, Step
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import encode_properties
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings, Part

QUEUE = MessageQueue("t", "b", 0)
CANAL, TEXT = converter("canal", {}, is_key=False), converter("string", {}, is_key=True)


def message(*ids: object, kind: str = "int", **more: object) -> bytes:
    rows = [{"id": None if each is None else str(each)} for each in ids]
    said = {"type": "INSERT", "database": "d", "table": "t", "isDdl": False, "es": 5, "ts": 6, "pkNames": ["id"]}
    return json.dumps({**said, "data": rows, "mysqlType": {"id": kind}, **more}).encode()


DEFINITION = message(type="ALTER", isDdl=True)


def pulled(*bodies: bytes) -> DecodedBatch:
    source = Source(bytes(100 * len(bodies)), list(range(0, 100 * len(bodies), 100)))
    offsets = list(range(100, 100 + len(bodies)))
    return DecodedBatch(QUEUE, list(bodies), offsets, [b""] * len(bodies), [1_000] * len(bodies), [source], len(bodies))


def read(*bodies: bytes, tolerant: bool = True, chain: Chain | None = None, wanted: DecodeSettings | None = None) -> list[Part]:
    policy = ErrorPolicy(tolerant=tolerant, dead_letter_topic="", properties=True, log=False, log_values=False)
    reader = decoder(TEXT, CANAL, policy, wanted or DecodeSettings(), chain or Chain([]))
    parts = reader.decode(pulled(*bodies), None, 100, {}, 1.0, {})
    assert [part.start for part in parts] == [100, *(part.until for part in parts[:-1])]
    return parts


def ids(parts: Sequence[Part]) -> list[list[Any]]:
    values: list[list[Any]] = [list(part.records.values) for part in parts]
    return [[value["after"]["id"] for value in some] for some in values]


def test_all_records_of_a_message_have_its_offset_and_each_a_number_a_key_and_a_time() -> None:
    (part,) = read(message(1, 2), DEFINITION, message(3))
    assert ids([part]) == [[1, 2, 3]]
    records = part.records
    assert (list(records.offsets), records.rows) == ([100, 100, 102], [0, 1, 0])
    assert records.keys == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert records.timestamps_ms == [5, 5, 5]
    assert (part.until, part.read, records.size) == (103, 3, len(message(1, 2)) + len(message(3)))


def test_messages_without_records_move_the_position_alone() -> None:
    (part,) = read(DEFINITION, DEFINITION)
    assert (len(part.records), part.until, part.bad) == (0, 102, ())


def test_messages_of_another_schema_begin_a_part() -> None:
    parts = read(message(1, 2), message(3, kind="bigint"), message(4, kind="bigint"))
    assert ids(parts) == [[1, 2], [3, 4]]
    assert [part.until for part in parts] == [101, 103]


def test_a_bad_record_is_left_out_with_what_its_letter_keeps_and_its_company_stays() -> None:
    (part,) = read(message(1, "x", 3), message("y"), b"no JSON")
    assert ids([part]) == [[1, 3]]
    bad = [(each.offset, each.row, each.failure.original) for each in part.bad]
    assert [(offset, row) for offset, row, _ in bad] == [(100, 1), (101, None), (102, None)]
    assert [json.loads(original)["data"] for _, _, original in bad[:2]] == [[{"id": "x"}], [{"id": "y"}]]
    assert bad[2][2] == b"no JSON"


@pytest.mark.parametrize(("bodies", "until"), [((message(1), message(2, "x")), 101), ((message("x", 1),), 100)])
def test_without_tolerance_nothing_of_the_message_of_a_bad_record_moves(bodies: Sequence[bytes], until: int) -> None:
    parts = read(*bodies, tolerant=False)
    assert parts[-1].error is not None
    assert (ids(parts), parts[-1].until) == ([[1]] if until > 100 else [[]], until)


def test_a_bad_record_before_a_good_one_of_its_message_goes_with_it_into_the_next_part() -> None:
    parts = read(message(1), message("x", 2, kind="bigint"))
    assert [(part.until, [each.offset for each in part.bad]) for part in parts] == [(101, []), (102, [101])]


def test_tables_of_arrow_are_made_of_good_records() -> None:
    from rocketconnect_sdk.arrow import to_array

    (part,) = read(message(1, "x", 3), wanted=DecodeSettings(array=to_array))
    assert [row["after"]["id"] for row in part.array.to_pylist()] == [1, 3]


class ByNumber(Transform):
    """Sends records of even numbers elsewhere, and drops those of 9."""

    name = "by_number"

    def apply(self, record: Record) -> Record | None:
        value: Any = record.value
        number = value["after"]["id"]
        if number == 9:
            return None
        return record if number % 2 else replace(record, topic="even")


def test_a_message_goes_to_one_topic_and_records_that_would_go_to_another_are_bad() -> None:
    chain = Chain([Step("by", ByNumber(parse((), {})))])
    parts = read(message(9, 1, 2), message(2, 4), message(9), chain=chain)
    assert [(part.records.topic, some) for part, some in zip(parts, ids(parts), strict=True)] == [("t", [1]), ("even", [2, 4])]
    assert [part.until for part in parts] == [101, 103]
    (bad,) = parts[0].bad
    assert (bad.offset, bad.row) == (100, 2)
    assert "goes to another topic than the first one of its message" in bad.failure.message


def test_what_properties_say_is_given_to_a_converter_that_wants_it() -> None:
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    raw = encode_properties({f"CE_{name}": text for name, text in event.items()} | {"connect-ext-ce_subject": "a"})
    source = Source(bytes(100), [0])
    batch = DecodedBatch(QUEUE, [b"7"], [100], [raw], [1_000], [source], 1)
    policy = ErrorPolicy(tolerant=False, dead_letter_topic="", properties=True, log=False, log_values=False)
    reader = decoder(TEXT, converter("cloudevents", {}, is_key=False), policy, DecodeSettings(), Chain([]))
    (part,) = reader.decode(batch, None, 100, {}, 1.0, {})
    assert part.records.values == [{**event, "subject": "a", "data": 7}]

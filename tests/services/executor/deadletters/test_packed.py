"""Packed rows among dead letters: what people are told of them, and how other values come into them."""

import asyncio
import json

import pyarrow as pa
import pytest
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_kit.errors import InvalidArgument, Unavailable
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of, unpack, values_of
from rocketconnect_sdk.schema import STRING
from services.executor.contract.answers import RowsChanged, RowsRead
from services.executor.contract.messages import Event, decode_event, decode_order, encode
from services.executor.contract.questions import ChangeRows, Question, ReadRows
from services.executor.deadletters.packed import PackedLetters
from services.executor.host.jobs.letters.packed import rows_changed, rows_read
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate

COLUMNS = parse_columns("id:int64, price:decimal(5,2)")


def packed(count: int, text: str = "a") -> bytes:
    values = [{"id": number, "price": None} for number in range(count)]
    keys = pa.array([f"{text}{number}".encode() for number in range(count)], pa.binary())
    times = pa.array([1_000 * number for number in range(count)], pa.int64())
    headers = pa.array([[("h", text)]] * count, pa.map_(pa.string(), pa.string()))
    return Rows(*array_of(values, COLUMNS), offsets_of([(n + 1,) for n in range(count)]), "u/p", keys, times, headers).pack()


class Hosts(FreshHosts):
    """Answer as a fresh host does, over the same line; or with this."""

    def __init__(self, instead: Event | Exception | None = None) -> None:
        self.seconds: list[float] = []
        self._instead = instead

    async def ask(self, question: Question, seconds: float, what: str) -> Event:
        self.seconds.append(seconds)
        if isinstance(self._instead, Exception):
            raise self._instead
        if self._instead is not None:
            return self._instead
        order = decode_order(encode(question))
        assert isinstance(order, ReadRows | ChangeRows)
        return decode_event(encode(rows_read(order) if isinstance(order, ReadRows) else rows_changed(order)))


def read(body: bytes, instead: Event | Exception | None = None) -> pb.PackedRows | None:
    return asyncio.run(PackedLetters(Hosts(instead), 60.0).read(body, 10.0))


def changed(body: bytes, rows: str, instead: Event | Exception | None = None) -> bytes:
    return asyncio.run(PackedLetters(Hosts(instead), 60.0).changed(body, rows, 10.0))


def test_a_row_is_told_with_its_columns_its_key_its_time_and_its_headers() -> None:
    found = read(packed(1))
    assert found is not None
    assert [(column.name, column.type) for column in found.columns] == [("id", "int64"), ("price", "decimal(5,2)")]
    (row,) = found.rows
    assert json.loads(row.value) == {"id": 0, "price": None}
    assert (row.key, row.event_time.ToMilliseconds(), dict(row.headers)) == ("a0", 0, {"h": "a"})
    assert (found.count, found.problem) == (1, "")


def test_of_many_rows_the_first_are_told_and_how_many_there_are() -> None:
    found = read(packed(201))
    assert found is not None
    assert (len(found.rows), found.count) == (200, 201)
    long = rows_read(ReadRows(Rows(*array_of(["x" * 400_000] * 5, STRING), offsets_of([(n,) for n in range(5)])).pack()))
    assert (len(long.rows), long.count) == (2, 5)


def test_a_body_that_is_no_packed_message_has_no_rows_and_nobody_is_asked() -> None:
    assert read(b'{"id": 1}') is None
    assert read(b"") is None
    with pytest.raises(InvalidArgument, match="its body is no packed message"):
        changed(b'{"id": 1}', "{}")


def test_one_that_only_begins_as_a_packed_message_says_why_it_has_no_rows() -> None:
    found = read(packed(1)[:100])
    assert found is not None
    assert found.problem.startswith("no packed message: ")
    with pytest.raises(InvalidArgument, match="no packed message: "):
        changed(packed(1)[:100], "{}")


def test_other_values_come_into_the_same_message() -> None:
    rows = unpack(changed(packed(1), '{"id": 7, "price": 1.5}'))
    (value,) = values_of(rows)
    assert str(value) == "{'id': 7, 'price': Decimal('1.50')}"
    assert (rows.schema, rows.source, rows.last) == (COLUMNS, "u/p", (1,))
    assert rows.keys is not None
    assert rows.keys.to_pylist() == [b"a0"]


def test_what_does_not_fit_is_refused_with_its_column() -> None:
    with pytest.raises(InvalidArgument, match="rows: the column `id` is a whole number") as refused:
        changed(packed(1), '{"id": "x", "price": null}')
    assert refused.value.reason == "DEAD_LETTERS_INVALID"


@pytest.mark.parametrize("answer", [PluginLate("late"), PluginCrashed("gone"), RowsChanged(b"")])
def test_a_letter_is_shown_also_where_nobody_tells_its_rows(answer: Event | Exception) -> None:
    found = read(packed(1), answer)
    assert found is not None
    assert found.problem


@pytest.mark.parametrize("answer", [PluginLate("late"), PluginCrashed("gone"), RowsRead([], [], 0)])
def test_rows_that_nobody_packs_are_told_as_not_stored(answer: Event | Exception) -> None:
    with pytest.raises(Unavailable, match="nothing is stored: try again"):
        changed(packed(1), "{}", answer)

"""Changes as records."""

from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.changes import ChangeForm, Operation, Origin, TableChanges, Transaction
from rocketconnect_sdk.changes.images import Images
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct

ORIGIN = Origin("mysql", "shop", "sales", "", "orders")
COLUMNS = struct([("id", Schema(Type.INT64)), ("name", OPTIONAL_STRING), ("price", Schema(Type.INT32))])
MORE = struct([("file", STRING), ("pos", Schema(Type.INT64))])
SOURCE = {
    "connector": "mysql",
    "name": "shop",
    "db": "sales",
    "table": "orders",
    "snapshot": "false",
    "ts_ms": 9,
    "file": "f",
    "pos": 4,
}
JSON = JsonConverter(parse(JsonConverter.options, {}), is_key=False)

pytestmark = pytest.mark.parametrize("columnar", [True, False])


def table(columnar: bool, form: ChangeForm = ChangeForm(), **options: Any) -> TableChanges:  # noqa: B008
    key = options.pop("key", ["id"])
    made = {"partition": "table sales.orders", "topic": "t", "clock": lambda: 77, **options}
    return TableChanges(form, ORIGIN, COLUMNS, key, MORE, columnar=columnar, **made)


def add(changes: TableChanges, operation: Operation, before: Any, after: Any, place: int, **more: Any) -> None:
    changes.add(operation, before, after, offset=(1, place), ts_ms=9, source=("f", 4), **more)


def named(row: tuple[Any, ...] | None) -> dict[str, Any] | None:
    return None if row is None else dict(zip(("id", "name", "price"), row, strict=True))


def value(op: str, before: Any, after: Any, **more: Any) -> dict[str, Any]:
    rest = {"source": SOURCE, "transaction": None, "op": op, "ts_ms": 77, "unchanged": None}
    return {"before": named(before), "after": named(after), **rest, **more}


def test_changes_are_envelopes_with_their_keys_in_their_order(columnar: bool) -> None:
    changes = table(columnar)
    add(changes, Operation.CREATE, None, (1, "a", 10), 1)
    add(changes, Operation.UPDATE, (1, "a", 10), (1, None, 20), 2, transaction=Transaction("x", 2, 1), unchanged=["name"])
    add(changes, Operation.DELETE, (1, None, 20), None, 3)
    add(changes, Operation.TRUNCATE, None, None, 4)
    assert len(changes) == 4
    batch = changes.take()
    transaction = {"id": "x", "total_order": 2, "data_collection_order": 1}
    assert list(batch.values) == [
        value("c", None, (1, "a", 10)),
        value("u", (1, "a", 10), (1, None, 20), transaction=transaction, unchanged=["name"]),
        value("d", (1, None, 20), None),
        value("t", None, None),
    ]
    assert batch.keys is not None
    assert list(batch.keys) == [{"id": 1}, {"id": 1}, {"id": 1}, None]
    assert batch.offsets == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert (batch.timestamps_ms, batch.topics, batch.headers) == ([9] * 4, ["t"] * 4, None)
    assert isinstance(batch.values, Column) == columnar
    assert len(changes) == 0
    assert all(JSON.encode_many(batch.values, batch.schema))


def test_a_changed_key_is_a_deletion_and_a_creation(columnar: bool) -> None:
    changes = table(columnar)
    add(changes, Operation.UPDATE, (1, "a", 10), (2, "a", 11), 5)
    batch = changes.take()
    assert list(batch.values) == [value("d", (1, "a", 10), None), value("c", None, (2, "a", 11))]
    assert list(batch.keys or ()) == [{"id": 1}, {"id": 2}]
    assert batch.offsets == [(1, 5), (1, 5, 1, 1)]


def test_without_a_key_a_table_has_updates_only(columnar: bool) -> None:
    changes = table(columnar, key=[])
    add(changes, Operation.UPDATE, (1, "a", 10), (2, "a", 11), 5)
    batch = changes.take()
    assert list(batch.values) == [value("u", (1, "a", 10), (2, "a", 11))]
    assert batch.keys is None


def test_tombstones_follow_deletions_when_they_are_wanted(columnar: bool) -> None:
    changes = table(columnar, ChangeForm(tombstones=True))
    add(changes, Operation.UPDATE, (1, "a", 10), (2, "a", 11), 5)
    add(changes, Operation.DELETE, (2, "a", 11), None, 6)
    batch = changes.take()
    assert [None if each is None else each["op"] for each in batch.values] == ["d", None, "c", "d", None]  # type: ignore[index]
    assert list(batch.keys or ()) == [{"id": 1}, {"id": 1}, {"id": 2}, {"id": 2}, {"id": 2}]
    assert batch.offsets == [(1, 5), (1, 5, 1), (1, 5, 1, 1), (1, 6), (1, 6, 1)]


def test_as_rows_deletions_have_no_value_and_the_operation_is_a_header(columnar: bool) -> None:
    changes = table(columnar, ChangeForm(envelope=False))
    add(changes, Operation.CREATE, None, (1, "a", 10), 1)
    add(changes, Operation.UPDATE, (1, "a", 10), (1, None, 10), 2, unchanged=["name"])
    add(changes, Operation.DELETE, (1, None, 10), None, 3)
    batch = changes.take()
    assert list(batch.values) == [named((1, "a", 10)), named((1, None, 10)), None]
    assert batch.headers == [{"op": "c"}, {"op": "u", "unchanged": "name"}, {"op": "d"}]
    assert list(batch.keys or ()) == [{"id": 1}] * 3


def test_what_was_sent_is_left_out_down_to_the_half_of_a_changed_key(columnar: bool) -> None:
    for behind, left in (((1, 4), 4), ((1, 5), 3), ((1, 5, 1), 2), ((1, 5, 1, 1), 1), ((1, 6), 0), ((2, 0), 0)):
        changes = table(columnar, ChangeForm(tombstones=True), behind=behind)
        add(changes, Operation.UPDATE, (1, "a", 10), (2, "a", 11), 5)
        add(changes, Operation.CREATE, None, (3, "a", 11), 6)
        assert len(changes) == left, behind


def test_a_value_that_is_none_of_its_column_spoils_no_other(columnar: bool) -> None:
    changes = table(columnar)
    add(changes, Operation.CREATE, None, (1, "a", 10), 1)
    add(changes, Operation.CREATE, None, (2, object(), 10), 2)
    batch = changes.take()
    assert not isinstance(batch.values, Column)
    assert batch.values[0] == value("c", None, (1, "a", 10))
    assert list(batch.keys or ()) == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("envelope", [True, False])
def test_rows_of_a_snapshot_are_reads(columnar: bool, envelope: bool) -> None:
    changes = table(columnar, ChangeForm(envelope=envelope))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": "a", "price": 3}, {"id": 2, "name": None, "price": 4}])
    rows = rows.cast(pa.schema(list(to_arrow_type(COLUMNS))))
    batch = changes.reads(rows, [(0, 1), (0, 2)], ts_ms=9, source=("f", 4))
    after = [(1, "a", 3), (2, None, 4)]
    if envelope:
        snapshot = {**SOURCE, "snapshot": "true"}
        assert list(batch.values) == [value("r", None, row, source=snapshot) for row in after]
    else:
        assert list(batch.values) == list(map(named, after))
        assert batch.headers == [{"op": "r"}] * 2
    assert list(batch.keys or ()) == [{"id": 1}, {"id": 2}]
    assert batch.offsets == [(0, 1), (0, 2)]
    assert isinstance(batch.values, Column) == columnar
    assert all(JSON.encode_many(batch.values, batch.schema))


class Held(Images):
    """Rows that a reader of a test makes columns of."""

    def __init__(self, rows: Any, reader: "Reader") -> None:
        self.rows = rows
        self.reader = reader

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]


class Reader:
    """Makes columns, and counts how often."""

    def __init__(self, columns: Schema = COLUMNS) -> None:
        self.columns = columns
        self.asked = 0

    def arrays(self, images: Any) -> list[pa.Array]:
        self.asked += 1
        columns = zip(*(row for held in images for row in held.rows), strict=True)
        return [to_array(held, field.schema) for held, field in zip(columns, self.columns.fields, strict=True)]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketconnect_sdk.changes.table.FEW", 1)


ROWS = [(1, "a", 1), (2, "b", 2), (3, None, 3)]


@pytest.mark.parametrize("tombstones", [True, False])
@pytest.mark.parametrize("key", [["id"], ["price", "id"], []])
@pytest.mark.parametrize("behind", [(), (1, 2)])
@pytest.mark.parametrize("as_images", [True, False])
@pytest.mark.parametrize("envelope", [True, False])
@pytest.mark.parametrize(
    "blocks",
    [
        [(Operation.CREATE, None, ROWS)],
        [(Operation.UPDATE, ROWS, [(1, "x", 1), (2, "b", 2), (3, "y", 3)])],
        [(Operation.UPDATE, ROWS, [(1, "a", 1), (5, "b", 2), (3, None, 3)])],
        [(Operation.DELETE, ROWS, None)],
        [(Operation.CREATE, None, ROWS), (Operation.UPDATE, ROWS, ROWS), (Operation.DELETE, ROWS, None)],
        [(Operation.CREATE, None, [(1, "a", 1), (2, "b", "no number")])],
        [(Operation.CREATE, [], [])],
    ],
)
def test_changes_that_are_added_at_once_are_as_if_they_came_one_by_one(
    columnar: bool, blocks: Any, envelope: bool, as_images: bool, behind: Any, key: list[str], tombstones: bool
) -> None:
    one_by_one, at_once = (table(columnar, ChangeForm(envelope, tombstones), key=key, behind=behind) for _ in range(2))
    place, reader = 0, Reader()
    for operation, before, after in blocks:
        places = range(place + 1, place + 1 + len(before or after))
        place = places.stop - 1
        offsets, sources = [(1, place) for place in places], [("f", place) for place in places]
        transactions = [Transaction("x", place, place) for place in places]
        for number, offset in enumerate(offsets):
            old, new = (None if rows is None else rows[number] for rows in (before, after))
            more: Any = {"source": sources[number], "transaction": transactions[number], "unchanged": ["price"]}
            one_by_one.add(operation, old, new, offset=offset, ts_ms=9, **more)
        images = [rows if rows is None or not as_images else Held(rows, reader) for rows in (before, after)]
        more = {"sources": sources, "transactions": transactions, "unchanged": ["price"]}
        at_once.extend(operation, *images, offsets=offsets, ts_ms=9, **more)
    if len(one_by_one):
        assert at_once.take() == one_by_one.take()
    assert (len(at_once), len(one_by_one)) == (0, 0)


def test_columns_are_made_of_images_at_once(columnar: bool) -> None:
    changes, reader = table(columnar), Reader()
    for operation, before, after, first in ((Operation.CREATE, None, ROWS, 1), (Operation.DELETE, ROWS, None, 4)):
        images = [None if rows is None else Held(rows, reader) for rows in (before, after)]
        offsets = [(1, first + number) for number in range(3)]
        changes.extend(operation, *images, offsets=offsets, ts_ms=9, sources=[("f", 4)] * 3, transactions=[None] * 3)
    assert len(changes) == 6
    assert len(changes.take()) == 6
    assert reader.asked == (2 if columnar else 0)


def test_what_comes_behind_images_comes_behind_them(columnar: bool) -> None:
    changes, reader = table(columnar), Reader()
    offsets = [(1, 1), (1, 2), (1, 3)]
    changes.extend(
        Operation.CREATE, None, Held(ROWS, reader), offsets=offsets, ts_ms=9, sources=[("f", 4)] * 3, transactions=[None] * 3
    )
    add(changes, Operation.TRUNCATE, None, None, 4)
    assert list(changes.take().offsets) == [*offsets, (1, 4)]


def test_keys_of_images_may_be_of_a_type_that_arrow_does_not_compare(columnar: bool) -> None:
    columns = struct([("id", Schema(Type.UUID)), ("name", OPTIONAL_STRING)])
    first, second = ((UUID(int=number), "a") for number in (1, 2))
    changes = TableChanges(ChangeForm(), ORIGIN, columns, ["id"], MORE, partition="p", topic="t", columnar=columnar)
    reader = Reader(columns)
    for place, (operation, before, after) in enumerate(
        [(Operation.CREATE, None, [first]), (Operation.UPDATE, [first], [first]), (Operation.DELETE, [second], None)], 1
    ):
        images = [None if rows is None else Held(rows, reader) for rows in (before, after)]
        changes.extend(operation, *images, offsets=[(1, place)], ts_ms=9, sources=[("f", 4)], transactions=[None])
    assert list(changes.take().keys or ()) == [{"id": UUID(int=1)}, {"id": UUID(int=1)}, {"id": UUID(int=2)}]
    assert reader.asked == (2 if columnar else 0)


def test_a_few_images_are_read_one_by_one(columnar: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketconnect_sdk.changes.table.FEW", 4)
    changes, reader = table(columnar), Reader()
    offsets = [(1, 1), (1, 2), (1, 3)]
    changes.extend(
        Operation.CREATE, None, Held(ROWS, reader), offsets=offsets, ts_ms=9, sources=[("f", 4)] * 3, transactions=[None] * 3
    )
    assert (len(changes.take()), reader.asked) == (3, 0)


def test_changes_that_come_one_by_one_between_images_leave_these_as_columns(columnar: bool) -> None:
    changes, reader = table(columnar), Reader()
    add(changes, Operation.CREATE, None, (9, "z", 9), 1)
    for place in (2, 6):
        more: Any = {"sources": [("f", 4)] * 3, "transactions": [Transaction("x", 1, 1)] * 3}
        offsets = [(1, place), (1, place + 1), (1, place + 2)]
        changes.extend(Operation.CREATE, None, Held(ROWS, reader), offsets=offsets, ts_ms=9, **more)
        add(changes, Operation.DELETE, ROWS[0], None, place + 3)
    assert len(changes) == 9
    batch = changes.take()
    inserted = [value("c", None, row, transaction={"id": "x", "total_order": 1, "data_collection_order": 1}) for row in ROWS]
    deleted = value("d", ROWS[0], None)
    assert list(batch.values) == [value("c", None, (9, "z", 9)), *inserted, deleted, *inserted, deleted]
    assert list(batch.keys or ()) == [{"id": number} for number in (9, 1, 2, 3, 1, 1, 2, 3, 1)]
    assert batch.offsets == [(1, place) for place in range(1, 10)]
    assert isinstance(batch.values, Column) == columnar
    assert reader.asked == (2 if columnar else 0)
    assert len(changes) == 0


def test_one_bad_row_among_images_leaves_the_other_changes_as_they_are(columnar: bool) -> None:
    changes, reader = table(columnar), Reader()
    bad: Any = [(4, "d", "no number")]
    for place, rows in ((1, ROWS), (5, bad)):
        more: Any = {"sources": [("f", 4)] * len(rows), "transactions": [None] * len(rows)}
        offsets = [(1, place + number) for number in range(len(rows))]
        changes.extend(Operation.CREATE, None, Held(rows, reader), offsets=offsets, ts_ms=9, **more)
        add(changes, Operation.TRUNCATE, None, None, place + len(rows))
    batch = changes.take()
    truncated = value("t", None, None)
    assert list(batch.values) == [*(value("c", None, row) for row in ROWS), truncated, value("c", None, bad[0]), truncated]


def test_parts_of_images_before_a_change_may_be_null(columnar: bool) -> None:
    span = struct([("months", Schema(Type.INT32)), ("days", Schema(Type.INT32))], optional=True)
    columns = struct([("id", Schema(Type.INT64)), ("span", span)])
    changes = TableChanges(ChangeForm(), ORIGIN, columns, ["id"], MORE, partition="p", topic="t", columnar=columnar)
    rows, reader = [(1, {"months": 1, "days": 2}), (2, None)], Reader(columns)
    images = [Held(rows, reader), Held(rows, reader)]
    more: Any = {"sources": [("f", 4)] * 2, "transactions": [None] * 2}
    changes.extend(Operation.UPDATE, *images, offsets=[(1, 1), (1, 2)], ts_ms=9, **more)
    found = [(event["before"]["span"], event["after"]["span"]) for event in changes.take().values]  # type: ignore[index]
    assert found == [(rows[0][1], rows[0][1]), (None, None)]


@pytest.mark.parametrize("envelope", [True, False])
def test_a_table_may_have_no_columns_that_are_captured(columnar: bool, envelope: bool) -> None:
    form, nothing = ChangeForm(envelope), struct([])
    changes = TableChanges(form, ORIGIN, nothing, [], MORE, partition="p", topic="t", columnar=columnar)
    changes.add(Operation.CREATE, None, (), offset=(1, 1), ts_ms=9, source=("f", 4))
    images = Held([(), ()], Reader(nothing))
    more: Any = {"sources": [("f", 4)] * 2, "transactions": [None] * 2}
    changes.extend(Operation.CREATE, None, images, offsets=[(1, 2), (1, 3)], ts_ms=9, **more)
    values: Any = list(changes.take().values)
    assert [row["after"] if envelope else row for row in values] == [{}] * 3

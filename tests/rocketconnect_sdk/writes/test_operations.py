"""What records do to keys, documents and messages."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Field, Schema, Type, Unit
from rocketconnect_sdk.writes import Addressing, Form, Op, Operation, Template, template_option
from rocketconnect_sdk.writes.operations import read_operations, schemas_of
from rocketconnect_sdk.writes.templates import Told

BY_KEY = Addressing(target=Template.of("${topic}"), key=Template.of("${key}"), form=Form.OBJECT, deletes=True, partial=True)
BY_VALUE = Addressing(key=Template.of("${value.id}"), deletes=True)


def of(
    values: Sequence[object], addressing: Addressing, keys: list[object] | None = None, schema: Schema | None = None
) -> list[Operation]:
    operations, refused = read_operations(SinkBatch("t/b/0", "t", values, range(len(values)), keys, schema=schema), addressing)
    assert refused == {}
    return operations


def refused(value: object, addressing: Addressing, key: object = None) -> str:
    operations, reasons = read_operations(SinkBatch("t/b/0", "t", [value], [0], [key]), addressing)
    assert operations == []
    return reasons[0]


def change(op: str, before: object, after: object, **more: object) -> dict[str, object]:
    return {"op": op, "before": before, "after": after, **more}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "a"),
        (b"a", "a"),
        (7, "7"),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        ({"id": 7}, "7"),
        ('{"id":"x"}', "x"),
        ({"a": 1, "b": 2}, '{"a":1,"b":2}'),
        ("{no json", "{no json"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        ('say "hi"', 'say "hi"'),
    ],
)
def test_a_key_is_text_and_that_of_a_table_with_one_column_its_value(key: object, text: str) -> None:
    assert of([{"a": 1}], BY_KEY, [key])[0].place == ("t", text)


def test_two_columns_of_a_key_are_never_taken_for_others() -> None:
    one, two = of([{}, {}], BY_KEY, [{"a": "x:y", "b": "z"}, {"a": "x", "b": "y:z"}])
    assert one.place != two.place


@pytest.mark.parametrize("as_text", [False, True])
def test_envelopes_are_what_they_say(as_text: bool) -> None:
    row = {"id": 1, "a": "x"}
    given = [
        change("c", None, row),
        change("r", None, row),
        change("u", row, {"id": 1, "a": None}, unchanged=["a"]),
        change("u", row, {"id": 2, "a": "y"}),
        change("d", {"id": 2}, None),
        None,
    ]
    keys: list[object] = [{"id": 1}, {"id": 1}, {"id": 1}, {"id": 2}, {"id": 2}, {"id": 9}]
    values = [json.dumps(each) if as_text and each else each for each in given]
    assert [(each.op, each.key, each.value, each.unchanged) for each in of(values, BY_KEY, keys)] == [
        (Op.PUT, "1", row, ()),
        (Op.PUT, "1", row, ()),
        (Op.PUT, "1", {"id": 1}, ("a",)),
        (Op.DELETE, "1", None, ()),
        (Op.PUT, "2", {"id": 2, "a": "y"}, ()),
        (Op.DELETE, "2", None, ()),
        (Op.DELETE, "9", None, ()),
    ]


def test_deletions_by_value_mean_the_row_before() -> None:
    (gone,) = of([change("d", {"id": 5, "a": 1}, None)], BY_VALUE)
    assert (gone.op, gone.key) == (Op.DELETE, "5")
    assert refused(None, BY_VALUE) == "the record has no value, which ${value.id} stands for"


def test_what_can_not_be_written_is_told() -> None:
    whole = Addressing(key=Template.of("${key}"))
    assert "truncation" in refused(change("t", None, None), BY_KEY, "k")
    assert "the op 'x'" in refused(change("x", None, None), BY_KEY, "k")
    assert "leaves out what a had" in refused(change("u", None, {"id": 1}, unchanged=["a"]), whole, "k")
    assert "delete.enabled is false" in refused(change("d", {"id": 1}, None), whole, "k")
    assert "there are no keys here" in refused(None, Addressing(target=Template.of("x")))
    assert "nothing where ${key} looks for a name" in refused("v", whole, "")
    assert "the name 'op' twice" in refused('{"op":1,"op":2,"before":1,"after":1}', whole, "k")
    assert "gives its row another key and leaves out" in refused(
        change("u", {"id": 1}, {"id": 2}, unchanged=["a"]), BY_KEY, {"id": 2}
    )


def test_values_of_a_schema_have_their_plain_form() -> None:
    schema = Schema(Type.STRUCT, fields=(Field("at", Schema(Type.TIMESTAMP, unit=Unit.MILLISECONDS)),))
    (made,) = of([{"at": datetime.fromisoformat("2026-01-02")}], Addressing(key=Template.of("k")), schema=schema)
    assert b"2026-01-02T00:00:00" in made.value


def test_names_have_the_time_of_the_record_in_utc() -> None:
    addressing = Addressing(target=Template.of("${topic}-${time:%Y.%m.%d}/${time:%H}"))
    for time_ms, words in (
        (1_767_225_599_999, "t-2025.12.31/23"),
        (None, "has no time"),
        (10**18, "is in no year of the calendar"),
    ):
        times = None if time_ms is None else [time_ms]
        operations, refused = read_operations(SinkBatch("t/b/0", "t", ["x"], [0], None, times), addressing)
        assert words in refused.get(0, "") or operations[0].target == words
    for wrong in ("${time}", "${time:}", "${time:%s}", "${time:%}"):
        with pytest.raises(ValueError, match="stands for nothing"):
            Template.of(wrong)


def test_targets_have_the_schema_of_their_rows_and_of_changes_that_of_the_rows_in_them() -> None:
    row = Schema(Type.STRUCT, fields=(Field("id", Schema(Type.INT32)),))
    text = Schema(Type.STRING)
    envelope = Schema(Type.STRUCT, fields=(Field("op", text), Field("before", row), Field("after", row)))
    given = [change("c", None, {"id": 1}), change("d", {"id": 2}, None)]
    for values, schema in (([{"id": 1}], row), (given, envelope)):
        batch = SinkBatch("t/b/0", "t", values, range(len(values)), [{"id": 1}, {"id": 2}][: len(values)], schema=schema)
        assert schemas_of(batch, read_operations(batch, BY_KEY)[0]) == {"t": row}
    batch = SinkBatch("t/b/0", "t", ["{}"], [0], ["k"], schema=text)
    assert schemas_of(batch, read_operations(batch, BY_KEY)[0]) == {}


def test_messages_are_appended_as_they_are_with_headers_and_time() -> None:
    addressing = Addressing(target=Template.of("${topic}"), more={"queue": Template.of("${queue}")}, messages=True)
    values = [b"\xff", None, change("d", {"id": 1}, None), "text"]
    keys = [b"\xfe", '{"a": 1}', {"a": 1}, None]
    batch = SinkBatch("t/b/0", "t", values, range(4), keys, [7, None, 9, 0], [{"h": "x"}, {}, {}, {}])
    operations, refused = read_operations(batch, addressing)
    assert refused == {}
    assert [each.value for each in operations] == [b"\xff", None, b'{"op":"d","before":{"id":1},"after":null}', b"text"]
    assert [each.key_value for each in operations] == [b"\xfe", b'{"a": 1}', b'{"a":1}', None]
    assert [(each.headers, each.time_ms) for each in operations] == [({"h": "x"}, 7), ({}, None), ({}, 9), ({}, 0)]
    assert {(each.op, each.place, each.more["queue"]) for each in operations} == {(Op.APPEND, ("t", ""), "t/b/0")}
    assert "has no value" in read_operations(batch, Addressing(target=Template.of("${value}"), messages=True))[1][1]


class Twice(Template):
    """A text that no part tells of, and that a record without a key does not have."""

    __slots__ = ()

    def text(self, told: Told) -> str:
        return Template.of("${key} ${key}").text(told)


def test_a_template_with_a_text_of_its_own_is_asked_for_that_of_each_record() -> None:
    made = of([{}, {}], Addressing(key=Template.of("${key}"), more={"title": Twice("", ())}), ["a", "b"])
    assert [each.more for each in made] == [{"title": "a a"}, {"title": "b b"}]


def test_an_option_that_is_a_template_refuses_with_the_configuration_what_stands_for_nothing() -> None:
    option = template_option("key", "The key.", "${key}")
    assert parse([option], {})["key"] == "${key}"
    with pytest.raises(ConfigError) as wrong:
        parse([option], {"key": "${value.id}:${id}"})
    (problem,) = wrong.value.problems
    assert (problem.key, problem.reason) == ("key", "${id} stands for nothing")
    assert "${key.FIELD}" in problem.fix

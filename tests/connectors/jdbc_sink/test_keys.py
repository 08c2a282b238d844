from dataclasses import replace

import pytest

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.connectors.jdbc_sink.conftest import EACH, Target
from tests.connectors.jdbc_sink.test_jdbc_sink import ALL, ENVELOPE, ROW, UPSERT, change, row

BY_KEY = {**UPSERT, "pk_mode": "record_key", "delete_enabled": "true"}
OF_ROW = replace(ROW, optional=True)


def key(number: int) -> dict[str, object]:
    return {"id": number}


def test_a_record_without_a_value_deletes_the_row_of_its_key(target: Target) -> None:
    task = target.start(**BY_KEY)
    target.write(task, [row(1), row(2), row(3)], OF_ROW, keys=[key(1), key(2), key(3)])
    values = [None, row(1, "again"), row(2, "b"), None]
    target.write(task, values, OF_ROW, keys=[key(1), key(1), key(2), key(2)])
    assert target.run(ALL) == [(1, "again", None), (3, "a", None)]


def test_a_batch_of_deletions_alone_needs_no_schema(target: Target) -> None:
    task = target.start(**BY_KEY)
    target.write(task, [None], None, keys=[key(9)])
    target.write(task, [row(1), row(2)], OF_ROW, keys=[key(1), key(2)])
    target.write(task, [None, None], None, keys=[key(1), key(5)])
    assert target.run(ALL) == [(2, "a", None)]


@pytest.mark.parametrize("keys", [[7, 8], ["7", "8"], [{"id": 7, "more": 0}, {"id": 8, "more": 0}]])
def test_the_key_need_not_be_in_the_value(target: Target, keys: list[object]) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9))')
    task = target.start(insert_mode="upsert", pk_mode="record_key", delete_enabled="true", schema_evolution="ignore")
    named = struct([("name", Schema(Type.STRING))])
    target.write(task, [{"name": "a"}, {"name": "b"}], named, keys=keys)
    target.write(task, [{"name": "c"}, {"name": "d"}], named, keys=keys)
    assert target.run('SELECT id, name FROM "rows" ORDER BY id') == [(7, "c"), (8, "d")]
    target.write(task, [None], None, keys=keys[:1])
    assert target.run('SELECT id, name FROM "rows"') == [(8, "d")]


def test_a_table_is_made_with_the_columns_of_the_key(target: Target) -> None:
    task = target.start(insert_mode="upsert", pk_mode="record_key", pk_fields="code", auto_create="true")
    target.write(task, [{"name": "a"}, {"name": "b"}], struct([("name", Schema(Type.STRING))]), keys=["x", "x"])
    assert target.run('SELECT code, name FROM "rows"') == [("x", "b")]


@EACH
def test_the_columns_of_the_key_stand_first_in_a_made_table_in_the_order_of_the_key(target: Target) -> None:
    task = target.start(insert_mode="upsert", pk_fields="id,day", auto_create="true", schema_evolution="evolve")
    number = Schema(Type.INT32)
    target.write(task, [{"name": 1, "day": 2, "id": 3}], struct([("name", number), ("day", number), ("id", number)]))
    assert target.run('SELECT * FROM "rows"') == [(3, 2, 1)]
    target.write(task, [{"name": 4, "day": 2, "id": 3, "a": 5}], struct([(name, number) for name in ("name", "day", "a", "id")]))
    assert target.run('SELECT * FROM "rows"') == [(3, 2, 4, 5)], "what comes later stands behind"


def test_texts_of_a_made_table_are_the_same_key_where_all_their_characters_are(target: Target) -> None:
    task = target.start(insert_mode="upsert", pk_mode="record_key", pk_fields="code", auto_create="true", delete_enabled="true")
    # In all collations of OceanBase's kernel spaces at the end count for nothing: a key that has some is a bad record.
    more = "word." if target.kind == "oceanbase" else "word "
    words = ["word", "Word", more, "w\u00f6rd", "word\t"]
    named = struct([("name", Schema(Type.STRING, optional=True))], optional=True)
    target.write(task, [{"name": word} for word in words], named, keys=words)
    target.write(task, [None, {"name": "again"}], named, keys=["Word", more])
    found = sorted(target.run('SELECT code, name FROM "rows"'))
    assert found == sorted([("word", "word"), (more, "again"), ("w\u00f6rd", "w\u00f6rd"), ("word\t", "word\t")])


def test_records_whose_keys_are_none_of_the_table_are_bad_ones(target: Target) -> None:
    task = target.start(**BY_KEY)
    target.write(task, [row(1)], OF_ROW, keys=[key(1)])
    with pytest.raises(RecordError):
        target.write(task, [row(1), None, row(3), row(4)], OF_ROW, keys=[key(1), None, {"other": 3}, {"id": "x"}])
    reasons = task.unwritable(None)
    assert sorted(reasons) == [1, 2, 3]
    assert "there is none" in reasons[1]
    assert "has no id" in reasons[2]
    assert target.run(ALL) == [(1, "a", None)]


def test_the_header_unchanged_names_columns_that_keep_their_values(target: Target) -> None:
    task = target.start(**UPSERT)
    target.write(task, [row(1, "a", "large")], ROW)
    target.write(task, [row(1, "b"), row(2, "c", "huge")], ROW, headers=[{"op": "u", "unchanged": "big"}, {"op": "c"}])
    assert target.run(ALL) == [(1, "b", "large"), (2, "c", "huge")]


def test_an_update_with_another_key_deletes_the_row_of_the_old_one(target: Target) -> None:
    task = target.start(**UPSERT, delete_enabled="true")
    target.write(task, [change("c", after=row(number)) for number in (1, 2, 3)], ENVELOPE)
    changes = [
        change("u", row(1), row(7, "moved")),
        change("u", row(2), row(8)),
        change("d", row(8)),
        change("u", row(3), row(9)),
        change("c", after=row(3, "new")),
    ]
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(3, "new", None), (7, "moved", None), (9, "a", None)]


def test_changes_go_by_the_key_of_the_record(target: Target) -> None:
    task = target.start(**BY_KEY)
    target.write(task, [change("c", after=row(1)), change("c", after=row(2))], ENVELOPE, keys=[key(1), key(2)])
    target.write(task, [change("d"), None, None], ENVELOPE, keys=[key(1), key(1), key(2)])
    assert target.run(ALL) == []


def test_a_truncation_needs_no_key(target: Target) -> None:
    task = target.start(**BY_KEY, truncate_enabled="true")
    target.write(task, [change("t")], ENVELOPE, keys=[None])
    target.write(task, [change("c", after=row(1)), change("t"), change("c", after=row(2))], ENVELOPE, keys=[key(1), None, key(2)])
    assert target.run(ALL) == [(2, "a", None)]
    target.write(task, [change("t")], ENVELOPE, keys=[None])
    assert target.run(ALL) == []
    with pytest.raises(RecordError):
        target.write(task, [change("t"), change("c", after=row(3))], ENVELOPE, keys=[None, None])
    assert list(task.unwritable(None)) == [1]


def test_a_column_that_a_table_gets_is_told_once_with_how_the_rows_that_are_there_are_filled(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    task = target.start(**UPSERT, schema_evolution="evolve")
    target.write(task, [row(1), row(2)], ROW)
    assert caplog.messages == []
    more = struct([*((each.name, each.schema) for each in ROW.fields), ("price", Schema(Type.INT32))])
    for _ in range(2):
        target.write(task, [{**row(2), "price": 7}], more)
    (told,) = caplog.messages
    assert told.startswith("rows: rows that are there have null in price, also where the source has values for them")
    assert "`rocketconnect connector signal SOURCE execute-snapshot tables=TABLE`" in told
    assert "renamed" not in told

from dataclasses import replace

import pytest

from rocketconnect_sdk.errors import ConnectorError, PermanentError, RecordError, RetriableError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import STRING, Field, Schema, Type, struct
from tests.connectors.jdbc_sink.conftest import EACH, Target

ROW = struct(
    [("id", Schema(Type.INT64)), ("name", Schema(Type.STRING, optional=True)), ("big", Schema(Type.STRING, optional=True))]
)
ENVELOPE = struct(
    [
        ("before", replace(nullable(ROW), optional=True)),
        ("after", replace(ROW, optional=True)),
        ("source", struct([("db", STRING), ("table", STRING)], optional=True)),
        ("op", STRING),
        ("unchanged", Schema(Type.ARRAY, optional=True, items=STRING)),
    ],
    optional=True,
)
UPSERT = {"insert_mode": "upsert", "pk_fields": "id", "auto_create": "true"}
ALL = 'SELECT id, name, big FROM "rows" ORDER BY id'


def row(number: int, name: str | None = "a", big: str | None = None) -> dict[str, object]:
    return {"id": number, "name": name, "big": big}


def change(op: str, before: object = None, after: object = None, **more: object) -> dict[str, object]:
    return {"op": op, "before": before, "after": after, "source": None, "unchanged": None, **more}


@EACH
def test_the_last_record_of_a_key_is_what_is_there(target: Target) -> None:
    task = target.start(**UPSERT)
    target.write(task, [row(1, "a"), row(2, "b"), row(1, "c")], ROW)
    target.write(task, [row(2, "d"), row(3, "")], ROW)
    assert target.run(ALL) == [(1, "c", None), (2, "d", None), (3, "", None)]


def test_inserted_records_are_rows_of_their_own(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER, name VARCHAR(9))')
    task = target.start(schema_evolution="ignore")
    target.write(task, [row(1), row(1)], ROW)
    assert target.run('SELECT id, name FROM "rows"') == [(1, "a"), (1, "a")]


@EACH
def test_changes_are_made_in_their_order(target: Target) -> None:
    task = target.start(**UPSERT, delete_enabled="true")
    target.write(task, [change("c", after=row(number)) for number in (1, 2, 3)], ENVELOPE)
    changes = [
        change("u", row(1), row(1, "new")),
        change("d", row(2)),
        None,
        change("d", row(3)),
        change("c", after=row(3, "again")),
        change("c", after=row(4)),
        change("d", row(4)),
    ]
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(1, "new", None), (3, "again", None)]


def test_a_changed_key_leaves_no_row_of_the_old_one(target: Target) -> None:
    task = target.start(**UPSERT, delete_enabled="true")
    target.write(task, [change("c", after=row(1))], ENVELOPE)
    target.write(task, [change("d", row(1)), change("c", after=row(7))], ENVELOPE)
    assert target.run(ALL) == [(7, "a", None)]


def test_a_column_that_was_not_told_keeps_its_value_even_from_the_same_batch(target: Target) -> None:
    task = target.start(**UPSERT)
    target.write(task, [change("c", after=row(1, "a", "large"))], ENVELOPE)
    changes = [
        change("u", None, row(1, "b"), unchanged=["big"]),
        change("c", after=row(2, "a", "huge")),
        change("u", None, row(2, "c"), unchanged=["big"]),
    ]
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(1, "b", "large"), (2, "c", "huge")]


def test_a_changed_key_takes_the_columns_along_that_were_not_told(target: Target) -> None:
    task = target.start(**UPSERT)
    target.write(task, [change("c", after=row(1, "a", "large"))], ENVELOPE)
    changes = [
        change("c", after=row(2, "b", "huge")),
        change("u", row(2), row(3, "c"), unchanged=["big"]),
        change("u", row(1), row(2, "d"), unchanged=["big"]),
        change("u", row(3), row(4, "e"), unchanged=["big"]),
    ]
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(2, "d", "large"), (4, "e", "huge")]


def test_a_changed_key_that_comes_again_changes_nothing(target: Target) -> None:
    task = target.start(**UPSERT)
    changes = [change("c", after=row(1, "a", "large")), change("u", row(1), row(2, "b"), unchanged=["big"])]
    target.write(task, changes, ENVELOPE)
    target.write(task, changes[1:], ENVELOPE)
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(2, "b", "large")]


def test_a_column_that_takes_no_null_keeps_its_value_when_it_was_not_told(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9), big VARCHAR(9) NOT NULL)')
    task = target.start(insert_mode="upsert", schema_evolution="ignore")
    told = replace(ROW, fields=(*ROW.fields[:2], Field("big", STRING)))
    target.write(task, [row(1, "a", "large"), row(2, "a", "huge"), row(5, "a", "vast")], told)
    changes = [
        change("u", None, row(1, "b"), unchanged=["big"]),
        change("u", row(2), row(3, "c"), unchanged=["big"]),
        change("u", None, row(5, "d", "new")),
    ]
    target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(1, "b", "large"), (3, "c", "huge"), (5, "d", "new")]
    target.write(task, [row(1, "d"), row(4, "e", "more")], ROW, headers=[{"unchanged": "big"}, {}])
    assert target.run(ALL) == [(1, "d", "large"), (3, "c", "huge"), (4, "e", "more"), (5, "d", "new")]
    with pytest.raises(RecordError):
        target.write(task, [row(9, "f"), row(3, "f"), row(3, "g")], ROW, headers=[{"unchanged": "big"}, {}, {"unchanged": "big"}])
    assert list(task.unwritable(None)) == [1]
    with pytest.raises(RecordError, match="refuses values"):
        target.write(task, [row(9, "f"), row(3, "g")], ROW, headers=[{"unchanged": "big"}] * 2)
    assert list(task.unwritable(None)) == [0]


def test_a_truncation_deletes_what_was_there_before_it(target: Target) -> None:
    task = target.start(**UPSERT, truncate_enabled="true")
    target.write(task, [change("c", after=row(1))], ENVELOPE)
    target.write(task, [change("c", after=row(2)), change("t"), change("c", after=row(3))], ENVELOPE)
    assert target.run(ALL) == [(3, "a", None)]


def test_deletions_that_are_not_wanted_are_bad_records(target: Target) -> None:
    task = target.start(**UPSERT)
    with pytest.raises(RecordError, match=r"2 values"):
        target.write(task, [change("c", after=row(1)), change("d", row(1)), change("t")], ENVELOPE)
    reasons = task.unwritable(None)
    assert "delete.enabled" in reasons[1]
    assert "truncate.enabled" in reasons[2]
    assert len(reasons) == 2


def test_one_topic_feeds_the_tables_that_the_changes_name(target: Target) -> None:
    task = target.start(**UPSERT, **{"table.name.format": "${table}_copy"})
    sources = [{"db": "d", "table": table} for table in ("one", "two", "one")]
    target.write(task, [change("c", after=row(n), source=source) for n, source in enumerate(sources)], ENVELOPE)
    assert [target.run(f"SELECT id FROM {name}_copy ORDER BY id") for name in ("one", "two")] == [[(0,), (2,)], [(1,)]]
    with pytest.raises(RecordError, match="does not say"):
        target.write(task, [row(1)], ROW)


@EACH
def test_new_fields_become_columns_when_the_table_evolves(target: Target) -> None:
    task = target.start(**UPSERT, schema_evolution="evolve")
    target.write(task, [row(1)], ROW)
    wider = replace(ROW, fields=(*ROW.fields, Field("more", Schema(Type.INT32, optional=True))))
    target.write(task, [{**row(2), "more": 5}], wider)
    target.write(task, [row(3)], ROW)
    assert target.run('SELECT id, more FROM "rows" ORDER BY id') == [(1, None), (2, 5), (3, None)]


def test_by_default_new_fields_fail_the_task_before_anything_is_written(target: Target) -> None:
    task = target.start(**UPSERT)
    target.write(task, [row(1)], ROW)
    wider = replace(ROW, fields=(*ROW.fields, Field("more", Schema(Type.INT32, optional=True))))
    with pytest.raises(PermanentError, match=r"more \(int32\) is no column"):
        target.write(task, [{**row(2), "more": 5}], wider)
    assert target.run(ALL) == [(1, "a", None)]


def test_values_that_do_not_fit_are_named_and_nothing_is_written(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(3), big VARCHAR(100))')
    task = target.start(insert_mode="upsert", schema_evolution="ignore")
    keyless = replace(ROW, fields=(Field("id", Schema(Type.INT64, optional=True)), *ROW.fields[1:]))
    values = [row(1), {**row(2), "id": None}, row(3, "long name")]
    with pytest.raises(RecordError):
        target.write(task, values, keyless)
    reasons = task.unwritable(None)
    assert "takes no null" in reasons[1]
    # SQLite keeps texts of any length.
    assert ("3 characters" in reasons[2]) if target.kind != "sqlite" else 2 not in reasons
    assert target.run(ALL) == []


def test_a_missing_table_a_missing_key_and_no_key_of_a_new_table_are_told(target: Target) -> None:
    with pytest.raises(PermanentError, match=r"no table rows.*auto\.create"):
        target.write(target.start(), [row(1)], ROW)
    with pytest.raises(PermanentError, match=r"pk\.fields"):
        target.write(target.start(insert_mode="upsert", auto_create="true"), [row(1)], ROW)
    target.run('CREATE TABLE "rows" (id INTEGER, name VARCHAR(9), big VARCHAR(9))')
    with pytest.raises(PermanentError, match="no primary key"):
        target.write(target.start(insert_mode="upsert", schema_evolution="ignore"), [row(1)], ROW)


@EACH
def test_a_locked_table_is_tried_again_and_named(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"connectors.jdbc.{target.kind.replace('mariadb', 'mysql')}.LOCK_SECONDS", 1)
    task = target.start(**UPSERT)
    target.write(task, [row(1)], ROW)
    other = target.connect()
    name = "`rows`" if target.is_mysql else '"rows"'
    other.cursor().execute(f"UPDATE {name} SET name = 'held'")
    task.close()
    with pytest.raises(RetriableError, match=r"rows.*lock"):
        target.write(task, [row(1, "b")], ROW)
    other.rollback()
    other.close()
    target.write(task, [row(1, "c")], ROW)
    assert target.run(ALL) == [(1, "c", None)]


def test_a_table_that_is_dropped_is_made_again(target: Target) -> None:
    task = target.start(**UPSERT)
    for number in (1, 2):
        target.write(task, [row(number)], ROW)
        target.run('DROP TABLE "rows"')
        with pytest.raises(RetriableError, match="rows: a table is gone, and is made again"):
            target.write(task, [row(number + 1)], ROW)
    target.write(task, [row(3)], ROW)
    assert target.run(ALL) == [(3, "a", None)]


def test_a_table_that_is_dropped_and_not_to_be_made_is_told(target: Target) -> None:
    target.write(target.start(**UPSERT), [row(1)], ROW)
    task = target.start(**{**UPSERT, "auto_create": "false"})
    target.write(task, [row(1)], ROW)
    target.run('DROP TABLE "rows"')
    with pytest.raises(PermanentError, match="rows"):
        target.write(task, [row(2)], ROW)


def test_a_wrong_user_is_told_without_the_password(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("a file has no users")
    target.options = {**target.options, "user": "nobody-there"}
    with pytest.raises(PermanentError, match="nobody-there"):
        target.start()


def test_json_without_a_schema_becomes_rows_of_the_table(target: Target) -> None:
    target.run(
        """CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9) NOT NULL, price NUMERIC(9,2), day DATE,
        made VARCHAR(9) DEFAULT 'here')"""
    )
    task = target.start(insert_mode="upsert")
    target.write(task, [{"id": 1, "name": "a", "price": "1.50", "day": "2024-02-29"}, {"id": 2, "name": "b"}], None)
    target.write(task, [{"name": "c", "id": 1, "more": [1]}], None)
    assert target.run('SELECT id, name, made FROM "rows" ORDER BY id') == [(1, "c", "here"), (2, "b", "here")]
    assert [str(price) for (price,) in target.run('SELECT price FROM "rows" WHERE id = 1')] in (["1.50"], ["1.5"])
    with pytest.raises(RecordError):
        target.write(task, [{"id": 3, "name": "d"}, {"id": "x", "name": "d"}, [1], {"id": 4}], None)
    assert sorted(task.unwritable(None)) == [1, 2, 3]
    for more in ({}, {"auto_create": "true", "pk_mode": "record_key", "delete_enabled": "true"}):
        other = target.start(insert_mode="upsert", **{"table.name.format": "other", **more})
        with pytest.raises(RecordError, match="no table other"):
            target.write(other, [{"id": 1}], None, keys=[1])


def test_json_without_a_schema_and_tombstones_go_by_the_key(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9))')
    task = target.start(insert_mode="upsert", pk_mode="record_key", delete_enabled="true")
    target.write(task, [{"name": "a"}, {"name": "b"}, None], None, keys=[1, 2, 1])
    assert target.run('SELECT id, name FROM "rows"') == [(2, "b")]


def test_a_double_of_a_key_is_never_left_out_in_silence(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.jdbc.mysql._WORTH_LOADING", 1)
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9))')
    with pytest.raises(ConnectorError):
        target.write(target.start(schema_evolution="ignore"), [row(1), row(1)], ROW)
    assert target.run('SELECT id FROM "rows"') == []


@EACH
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_rows_that_only_the_database_refuses_are_named_and_nothing_of_the_batch_is_there(target: Target, mode: str) -> None:
    target.run(
        """CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9) NOT NULL UNIQUE, big VARCHAR(9),
        CONSTRAINT small CHECK (id < 1000))"""
    )
    task = target.start(insert_mode=mode, schema_evolution="ignore")
    target.write(task, [row(900, "taken")], ROW)
    values = [row(number, f"n{number}") for number in range(300)]
    values[7] = row(1007, "check")
    values[200], values[299] = row(200, "taken"), row(299, "n5")
    with pytest.raises(RecordError, match="refuses values"):
        target.write(task, values, ROW)
    reasons = task.unwritable(None)
    # MySQL's upsert goes by any unique index: the row of another key is updated there.
    found = [7] if target.is_mysql and mode == "upsert" else [7, 200, 299]
    assert sorted(reasons) == found
    assert "refuses" in reasons[7]
    assert target.run('SELECT id FROM "rows"') == [(900,)]
    good = [each for index, each in enumerate(values) if index not in found]
    target.write(task, good, ROW)


def test_a_constraint_that_waits_for_the_end_of_the_transaction_names_its_rows(target: Target) -> None:
    if target.kind != "postgres":
        pytest.skip("only PostgreSQL's constraints can wait")
    target.run(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        "INSERT INTO parents VALUES (1)",
        'CREATE TABLE "rows" (id INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED, name VARCHAR(9), big VARCHAR(9))',
    )
    task = target.start(schema_evolution="ignore")
    with pytest.raises(RecordError):
        target.write(task, [row(1), row(2), row(1)], ROW)
    assert list(task.unwritable(None)) == [1]


def test_json_that_names_no_column_of_the_table_is_a_bad_record(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER, name VARCHAR(9))')
    task = target.start()
    with pytest.raises(RecordError):
        target.write(task, [{}, {"other": 1}, {"id": 1}], None)
    assert sorted(task.unwritable(None)) == [0, 1]


def test_updates_change_the_rows_that_are_there_and_say_how_many_are_not(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    target.write(target.start(**UPSERT), [row(1), row(2, "b", "large"), row(3)], ROW)
    task = target.start(insert_mode="update", pk_fields="id", delete_enabled="true")
    changes = [
        change("u", None, row(1, "new")),
        change("u", None, row(2, "new"), unchanged=["big"]),
        change("c", None, row(8)),
        change("d", row(3)),
    ]
    with caplog.at_level("WARNING"):
        target.write(task, changes, ENVELOPE)
    assert target.run(ALL) == [(1, "new", None), (2, "new", "large")]
    assert "1 record has a key that no row has" in caplog.text
    with pytest.raises(RecordError, match="changes the key of its row"):
        target.write(task, [change("u", row(1), row(9))], ENVELOPE)
    assert target.run(ALL) == [(1, "new", None), (2, "new", "large")]


def test_a_table_that_is_all_key_has_nothing_to_update(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY)', 'INSERT INTO "rows" VALUES (1)')
    task = target.start(insert_mode="update", schema_evolution="ignore")
    target.write(task, [{"id": 1}], struct([("id", Schema(Type.INT64))]))
    assert target.run('SELECT id FROM "rows"') == [(1,)]


@pytest.mark.parametrize("by", [{}, {"pk_mode": "record_key", "pk_fields": "id"}])
def test_change_envelopes_without_a_schema_change_the_rows_of_the_table(target: Target, by: dict[str, str]) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9), big VARCHAR(9))')
    task = target.start(insert_mode="upsert", delete_enabled="true", truncate_enabled="true", **by)

    def write(*changes: dict[str, object] | None) -> None:
        rows = [each and (each["after"] or each["before"]) for each in changes]
        target.write(task, changes, None, keys=[each["id"] if isinstance(each, dict) else 1 for each in rows])

    write(change("c", None, row(1, "gone")), change("t"), change("r", None, row(2, "b", "large")), change("c", None, row(3)))
    assert target.run(ALL) == [(2, "b", "large"), (3, "a", None)]
    write(
        change("u", None, row(2, "new"), unchanged=["big"]),
        change("d", row(3)),
        change("c", None, {"id": 4, "more": {"left": "out"}}, transaction={"id": "7"}),
    )
    assert target.run(ALL) == [(2, "new", "large"), (4, None, None)]
    with pytest.raises(RecordError):
        write(change("u", None, row(2, "later")), change("c", None, "row"), change("c", None, {"id": "x"}))
    assert sorted(task.unwritable(None)) == [1, 2]
    assert target.run(ALL) == [(2, "new", "large"), (4, None, None)]


def test_beside_change_envelopes_without_a_schema_a_plain_row_is_written_as_it_is_alone(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9), big VARCHAR(9))')
    task = target.start(insert_mode="upsert")
    target.write(task, [change("c", None, row(1)), row(2)], None)
    assert target.run('SELECT id FROM "rows" ORDER BY id') == [(1,), (2,)]


def test_change_envelopes_without_a_schema_name_their_tables(target: Target) -> None:
    for name in ("one_copy", "two_copy"):
        target.run(f'CREATE TABLE "{name}" (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(9), big VARCHAR(9))')
    task = target.start(insert_mode="upsert", **{"table.name.format": "${table}_copy"})
    sources: list[object] = [{"db": "d", "table": table} for table in ("one", "two", "one")]
    target.write(task, [change("c", None, row(n), source=source) for n, source in enumerate(sources)], None)
    assert [target.run(f"SELECT id FROM {name}_copy ORDER BY id") for name in ("one", "two")] == [[(0,), (2,)], [(1,)]]
    for value in (change("c", None, row(1)), change("c", None, row(1), source="one"), row(1)):
        with pytest.raises(RecordError, match="does not say"):
            target.write(task, [value], None)

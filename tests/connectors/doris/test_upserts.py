"""Tables in which each key has one row."""

from collections.abc import Sequence

import pytest

from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import PermanentError, RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.doris.run import Run, opened
from tests.servers.doris import Doris

ROW = struct([("id", Schema(Type.INT32)), ("name", Schema(Type.STRING))])
OPTIONAL = struct([("id", Schema(Type.INT32)), ("name", Schema(Type.STRING))], optional=True)
ENVELOPE = struct([("op", Schema(Type.STRING)), ("before", OPTIONAL), ("after", OPTIONAL)])


@pytest.fixture
def upserts(options: dict[str, str]) -> dict[str, str]:
    return options | {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true"}


def batch(run: Run, values: Sequence[object], schema: Schema | None, keys: Sequence[object] | None = None) -> SinkBatch:
    begin = run.positions.get(QUEUE, QueuePosition(0)).until
    return SinkBatch(QUEUE, "orders", values, range(begin, begin + len(values)), keys=keys, schema=schema)


def write(run: Run, values: Sequence[object], schema: Schema | None = ROW, keys: Sequence[object] | None = None) -> None:
    made = batch(run, values, schema, keys)
    run.write(made.offsets[-1] + 1, batch=made)


def rows(doris: Doris) -> list[tuple[object, ...]]:
    return doris.run("SELECT id, name FROM shop.rows ORDER BY id")


def change(op: str, before: object = None, after: object = None) -> dict[str, object]:
    return {"op": op, "before": before, "after": after}


def one(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def test_changes_do_what_they_say(doris: Doris, upserts: dict[str, str]) -> None:
    run = opened(upserts).start()
    write(
        run,
        [
            change("c", after=one(1, "a")),
            change("c", after=one(2, "b")),
            change("d", before=one(1, "a")),
            change("c", after=one(3, "c")),
            change("d", before=one(3, "c")),
            change("c", after=one(3, "d")),
        ],
        ENVELOPE,
    )
    assert rows(doris) == [(2, "b"), (3, "d")]
    write(run, [change("u", one(2, "b"), one(7, "b")), change("d", before=one(3, "d"))], ENVELOPE)
    assert rows(doris) == [(7, "b")]


def test_a_key_that_changes_moves_its_row_also_where_deletions_are_none(doris: Doris, upserts: dict[str, str]) -> None:
    run = opened(upserts | {"delete.enabled": "false"}).start()
    write(run, [change("c", after=one(1, "a"))], ENVELOPE)
    with pytest.raises(RecordRefused, match=r"delete.enabled is false"):
        run.stage(batch(run, [change("d", before=one(1, "a"))], ENVELOPE))
    write(run, [change("u", one(1, "a"), one(2, "a"))], ENVELOPE)
    assert rows(doris) == [(2, "a")]


def test_a_record_without_a_value_deletes_the_row_of_its_key(doris: Doris, upserts: dict[str, str]) -> None:
    run = opened(upserts | {"pk.mode": "record_key"}).start()
    write(run, [None], None, keys=["9"])
    text = struct([("name", Schema(Type.STRING))], optional=True)
    write(run, [{"name": "a"}, {"name": "b"}, None], text, keys=[{"id": 1}, {"id": 2}, {"id": 1}])
    assert rows(doris) == [(2, "b")]
    write(run, [None], None, keys=["2"])
    assert rows(doris) == []


def test_a_key_is_that_of_the_table_whoever_made_it(doris: Doris, upserts: dict[str, str]) -> None:
    columns = "`id` INT NOT NULL, `name` STRING NOT NULL, `must` BIGINT NOT NULL"
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`rows` ({columns}) UNIQUE KEY (`id`) DISTRIBUTED BY HASH (`id`) BUCKETS 1")
    options = {key: value for key, value in upserts.items() if key not in ("pk.fields", "table.create")}
    run = opened(options | {"pk.mode": "record_key"}).start()
    write(run, ['{"name": "a", "must": 5}', '{"name": "b", "must": 6}'], None, keys=["1", "2"])
    # A row that only deletes needs what takes no null, too.
    write(run, [None], None, keys=["1"])
    assert doris.run("SELECT * FROM shop.rows") == [(2, "b", 6)]


@pytest.mark.parametrize(
    ("model", "changes", "said"),
    [
        ("UNIQUE KEY (`id`)", {"insert.mode": "insert"}, "has the model UNIQUE KEY, .* Set insert.mode=upsert"),
        ("DUPLICATE KEY (`id`)", {}, "has the model DUPLICATE KEY, and insert.mode=upsert needs UNIQUE KEY"),
        ("AGGREGATE KEY (`id`)", {}, "has the model AGGREGATE KEY"),
        ("UNIQUE KEY (`id`)", {"pk.fields": "name"}, "has the key id, and pk.fields is name. Set pk.fields=id"),
    ],
)
def test_a_table_of_another_model_is_refused(
    doris: Doris, upserts: dict[str, str], model: str, changes: dict[str, str], said: str
) -> None:
    columns = "`id` INT NOT NULL, `name` STRING NULL"
    doris.run(f"CREATE TABLE IF NOT EXISTS `shop`.`rows` ({columns}) {model} DISTRIBUTED BY HASH (`id`) BUCKETS 1")
    run = opened(upserts | changes)
    with pytest.raises(PermanentError, match=said):
        run.stage(batch(run, [one(1, "a")], ROW))


def test_changes_that_leave_columns_out_are_bad_records(doris: Doris, upserts: dict[str, str]) -> None:
    run = opened(upserts).start()
    made = batch(run, [one(1, "a"), one(2, "b")], ROW)
    made.headers = [{}, {"unchanged": "name"}]
    with pytest.raises(RecordRefused, match="the change leaves out what name had"):
        run.stage(made)
    with pytest.raises(RecordRefused, match="truncates the table"):
        run.stage(batch(run, [change("t")], ENVELOPE))
    with pytest.raises(RecordRefused, match="the record has no field id"):
        run.stage(batch(run, [{"name": "a"}], struct([("name", Schema(Type.STRING))])))


def test_changes_are_there_once_whoever_dies(doris: Doris, upserts: dict[str, str]) -> None:
    first = opened(upserts).start()
    write(first, [change("c", after=one(1, "a"))], ENVELOPE)
    doris.on = lambda asked: "lose" if asked == "commit" else ""
    with pytest.raises(Exception, match="does not answer"):
        write(first, [change("d", before=one(1, "a")), change("c", after=one(2, "b"))], ENVELOPE)
    doris.on = lambda _asked: ""
    newer = opened(upserts, epoch=2).start()
    assert newer.positions == {QUEUE: QueuePosition(3)}
    assert rows(doris) == [(2, "b")]

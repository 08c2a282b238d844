"""Rows and changes of rows, in the Java of Spark."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.schema import STRING, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.hudi_sink.owner import ROW, TEXT, UPSERT, WIDER, Owner, ids, in_front, texts
from tests.connectors.hudi_sink.spark import read
from tests.connectors.lakes.changes import QUEUE, change, envelopes

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def commits(path: Path) -> int:
    return len([*path.glob(".hoodie/timeline/*_*.commit"), *path.glob(".hoodie/timeline/*_*.replacecommit")])


def test_changes_are_made_in_one_commit_with_the_claim_and_the_position(tmp_path: Path) -> None:
    path = tmp_path / "table of [ü] *"
    owner = Owner(path, UPSERT)
    owner.start()
    first = [{"id": number, "text": f"first {number}"} for number in range(4)]
    owner.write([change("r", after=row) for row in first], envelopes(ROW))
    changes = [
        change("u", before={"id": 1, "text": None}, after={"id": 1, "text": "one"}),
        change("u", before={"id": 1, "text": None}, after={"id": 1, "text": "newest"}),
        change("d", before={"id": 2, "text": None}),
        change("u", before={"id": 3, "text": None}, after={"id": 30, "text": "other key"}),
        change("c", after={"id": 9, "text": "new"}),
        change("d", before={"id": 9, "text": None}),
        None,
    ]
    owner.write(changes, envelopes(ROW))
    assert texts(path) == {0: "first 0", 1: "newest", 30: "other key"}
    assert commits(path) == 2
    assert Owner(path, UPSERT, owner=(1, 2)).start() == {QUEUE: QueuePosition(11)}


def test_a_row_moves_to_another_partition_and_is_deleted_there_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, UPSERT, partition_by="text")
    owner.start()
    owner.rows(k0="left", k1="left", k2="a/b c")
    owner.rows(k1="right")
    assert texts(path) == {0: "left", 1: "right", 2: "a/b c"}
    owner.write([change("d", before={"id": number, "text": None}) for number in (1, 2)], envelopes(ROW))
    assert texts(path) == {0: "left"}


def test_columns_that_are_unchanged_keep_their_value_also_under_another_key_and_new_ones_are_added(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, UPSERT)
    owner.start()
    owner.rows(k0="zero", k1="one", k2="two")
    changes = [
        change("u", after={"id": 0, "text": None, "more": 5}, unchanged=["text"]),
        change("u", before={"id": 1, "text": None, "more": None}, after={"id": 7, "text": None, "more": 6}, unchanged=["text"]),
        change("c", after={"id": 8, "text": None, "more": 7}, unchanged=["text"]),
        change("u", after={"id": 2, "text": "second", "more": None}, unchanged=["more"]),
    ]
    owner.write(changes, envelopes(WIDER))
    owner.rows(k8="eight", k9="nine")
    assert sorted(read(path), key=lambda row: row["id"]) == [  # type: ignore[arg-type,return-value]
        {"id": 0, "text": "zero", "more": 5},
        {"id": 2, "text": "second", "more": None},
        {"id": 7, "text": "one", "more": 6},
        {"id": 8, "text": "eight", "more": 7},
        {"id": 9, "text": "nine", "more": None},
    ]


def test_a_truncation_deletes_what_was_before_it(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, UPSERT, partition_by="id")
    owner.start()
    owner.write([change("t")], envelopes(ROW))
    owner.write([change("c", after={"id": number, "text": "x"}) for number in range(3)], envelopes(ROW))
    newer = [change("c", after={"id": 7, "text": "y"}), change("t"), change("c", after={"id": 1, "text": "z"})]
    owner.write(newer, envelopes(ROW))
    assert texts(path) == {1: "z"}
    owner.write([change("t")], envelopes(ROW))
    assert texts(path) == {}
    owner.rows(k5="five")
    assert texts(path) == {5: "five"}
    assert Owner(path, UPSERT, owner=(1, 2)).start() == {QUEUE: QueuePosition(9)}


def test_the_key_of_the_record_is_that_of_the_row_and_a_record_without_a_value_deletes_it(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, UPSERT, pk_mode="record_key")
    owner.start()
    owner.write([None], None, ["5"])
    text = struct([("text", TEXT)], name="row", optional=True)
    owner.write([{"text": "x"}, {"text": "y"}, {"text": "z"}], text, ['{"id": 1}', '{"id": 2}', '{"id": 3}'])
    owner.write([{"text": "newer"}, None, None], text, ["1", "2", "4"])
    owner.write([None], None, ["3"])
    assert texts(path) == {1: "newer"}
    with pytest.raises(RecordError, match="2 values cannot be written"):
        owner.write([{"text": "x"}, {"text": "y"}, {"text": "z"}], text, ["6", None, "word"])
    reasons = owner.task.unwritable(pa.nulls(3))
    assert {index: reason.split(":")[0] for index, reason in reasons.items()} == dict.fromkeys(
        [1, 2], "the key is not that of a row"
    )
    assert texts(path) == {1: "newer"}


def test_json_objects_and_envelopes_without_a_schema_are_rows_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Owner(path, UPSERT)
    owner.start()
    with pytest.raises(RecordError, match=r"the value has no schema, and there is no table .*: set columns"):
        owner.write(['{"id": 1}'], STRING)
    owner.rows(k1="one", k2="two")
    owner.write(['{"id": 2, "text": "second", "other": 5}', '{"id": 3}'], STRING)
    owner.write([json.dumps(change("d", before={"id": 1}))], STRING)
    assert texts(path) == {2: "second", 3: None}


def test_a_table_with_another_key_is_refused(tmp_path: Path) -> None:
    keyed, plain = tmp_path / "keyed", tmp_path / "plain"
    owner = Owner(keyed, UPSERT)
    owner.start()
    owner.rows(k1="one")
    with pytest.raises(PermanentError, match=r"the table has the key id, and that of the records is id,text\. Set pk\.fields=id"):
        Owner(keyed, {**UPSERT, "pk.fields": "id,text"}).start()
    appended = Owner(plain)
    appended.start()
    appended.append(0, 1, schema=ROW)
    with pytest.raises(PermanentError, match=r"the table has no key, and that of the records is id\. Set insert\.mode=insert"):
        Owner(plain, UPSERT).start()


def test_rows_that_another_task_changes_meanwhile_are_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table"
    one, other = Owner(path, UPSERT), Owner(path, UPSERT, task=1)
    one.start()
    one.rows(k0="zero", k1="one")
    other.start()
    in_front(monkeypatch, lambda: other.rows(k0="other", k2="two"))
    keeps = [change("u", after={"id": 0, "text": None, "more": 5}, unchanged=["text"])]
    with pytest.raises(RetriableError, match="another commit was faster"):
        one.write(keeps, envelopes(WIDER))
    one.write(keeps, envelopes(WIDER))
    assert texts(path) == {0: "other", 1: "one", 2: "two"}


def test_an_owner_that_is_replaced_in_the_middle_of_an_upsert_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    zombie, new = Owner(path, UPSERT), Owner(path, UPSERT, owner=(1, 2))
    zombie.start()
    zombie.rows(k0="zero")
    in_front(monkeypatch, new.start)
    with pytest.raises((PermanentError, RetriableError), match=r"a newer owner|another commit was faster"):
        zombie.rows(k0="zombie")
    with pytest.raises(PermanentError, match="a newer owner"):
        zombie.rows(k0="zombie")
    assert texts(path) == {0: "zero"}
    new.rows(k0="new")
    assert texts(path) == {0: "new"}
    assert ids(path) == [0]

"""What every sink of a lake makes of rows and changes of rows, with Spark.

class TestChanges(KeyedSuite):
    lake = Delta
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from connectors.lakes.partition_values import NOTHING
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.schema import STRING, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.lakes.changes import NUMBER, QUEUE, TEXT, Row, change, envelopes
from tests.connectors.lakes.table import UPSERT, LakeTable


class KeyedSuite:
    """Subclass it, and say which lake it is."""

    lake: ClassVar[type[LakeTable]]

    @pytest.fixture
    def table(self, tmp_path: Path) -> LakeTable:
        return self.lake(tmp_path / "table of [ü] *")

    def row(self, number: int, text: str | None, **more: int | None) -> Row:
        return {"id": number, self.lake.text: text, **more}

    def test_changes_are_made_in_one_commit_with_the_claim_and_the_position(self, table: LakeTable) -> None:
        owner = table.owner(UPSERT)
        owner.start()
        owner.write([change("r", after=self.row(number, f"first {number}")) for number in range(4)], envelopes(table.rows))
        changes = [
            change("u", before=self.row(1, None), after=self.row(1, "one")),
            change("u", before=self.row(1, None), after=self.row(1, "newest")),
            change("d", before=self.row(2, None)),
            change("u", before=self.row(3, None), after=self.row(30, "other key")),
            change("c", after=self.row(9, "new")),
            change("d", before=self.row(9, None)),
            None,
        ]
        owner.write(changes, envelopes(table.rows))
        assert table.texts() == {0: "first 0", 1: "newest", 30: "other key"}
        assert table.commits() == 2
        self.says_with_it(table)
        assert table.owner(UPSERT, owner=(1, 2)).start() == {QUEUE: QueuePosition(11)}

    def says_with_it(self, table: LakeTable) -> None:
        """AssertionError: the newest commit does not say what it has besides the rows; for lakes that have a place for it."""

    def test_columns_that_are_unchanged_keep_their_value_also_under_another_key_and_new_ones_are_added(
        self, table: LakeTable
    ) -> None:
        owner = table.owner(UPSERT)
        owner.start()
        owner.rows(k0="zero", k1="one", k2="two")
        changes = [
            change("u", after=self.row(0, None, more=5), unchanged=[table.text]),
            change("u", before=self.row(1, None, more=None), after=self.row(7, None, more=6), unchanged=[table.text]),
            change("c", after=self.row(8, None, more=7), unchanged=[table.text]),
            change("u", after=self.row(2, "second", more=None), unchanged=["more"]),
        ]
        owner.write(changes, envelopes(table.wider_rows))
        rest = [self.row(2, "second", more=None), self.row(7, "one", more=6), self.row(8, None, more=7)]
        assert table.stored() == [self.row(0, "zero", more=5), *rest]
        # Rows that lack a column of the table leave it as it is.
        owner.rows(k0="newer", k9="nine")
        assert table.stored() == [self.row(0, "newer", more=5), *rest, self.row(9, "nine", more=None)]

    def test_a_truncation_deletes_what_was_before_it(self, table: LakeTable) -> None:
        owner = table.owner(UPSERT, partition_by="id")
        owner.start()
        form = envelopes(table.rows)
        owner.write([change("t")], form)
        owner.write([change("c", after=self.row(number, "x")) for number in range(3)], form)
        owner.write([change("c", after=self.row(7, "y")), change("t"), change("c", after=self.row(1, "z"))], form)
        assert table.texts() == {1: "z"}
        owner.write([change("t")], form)
        assert table.texts() == {}
        owner.rows(k5="five")
        assert table.texts() == {5: "five"}
        assert table.partitions() == ["id"]
        assert table.owner(UPSERT, owner=(1, 2)).start() == {QUEUE: QueuePosition(9)}

    def test_the_key_of_the_record_is_that_of_the_row_and_a_record_without_a_value_deletes_it(self, table: LakeTable) -> None:
        owner = table.owner(UPSERT, pk_mode="record_key")
        owner.start()
        owner.write([None], None, ["5"])
        form = struct([(table.text, TEXT)], name="row", optional=True)

        def texts(*values: str | None) -> list[Row | None]:
            return [None if value is None else {table.text: value} for value in values]

        owner.write(texts("x", "y", "z"), form, ['{"id": 1}', '{"id": 2}', '{"id": 3}'])
        owner.write(texts("newer", None, None), form, ["1", "2", "4"])
        owner.write([None], None, ["3"])
        assert table.texts() == {1: "newer"}
        with pytest.raises(RecordError, match="2 values cannot be written"):
            owner.write(texts("x", "y", "z"), form, ["6", None, "word"])
        reasons = owner.task.unwritable(pa.nulls(3))
        assert {index: reason.split(":")[0] for index, reason in reasons.items()} == dict.fromkeys(
            [1, 2], "the key is not that of a row"
        )
        assert table.texts() == {1: "newer"}

    @pytest.mark.slow
    def test_a_key_in_the_name_of_a_partition_is_that_of_one_row_or_a_bad_record(self, table: LakeTable) -> None:
        """What a table reads as null is no row's key: each change would add a row."""
        columns = struct([("id", NUMBER), ("country", TEXT)], name="row", optional=True)
        owner = table.owner({**UPSERT, "pk.fields": "id,country"}, partition_by="country")
        owner.start()
        held = set()
        for country in ("ch", "", NOTHING, "a/b=c %20", None):
            for _ in range(2):
                with suppress(RecordError):
                    owner.write([{"id": 1, "country": country}], columns)
                    held.add(country)
        assert sorted(row["country"] for row in table.read()) == sorted(map(str, held)) == sorted(self.lake.partition_texts)

    def test_json_objects_and_envelopes_without_a_schema_are_rows_of_the_table(self, table: LakeTable) -> None:
        owner = table.owner(UPSERT)
        owner.start()
        with pytest.raises(RecordError, match=r"the value has no schema, and there is no table .*: set columns"):
            owner.write(['{"id": 1}'], STRING)
        owner.rows(k1="one", k2="two")
        owner.write([json.dumps(self.row(2, "second", other=5)), '{"id": 3}'], STRING)
        owner.write([json.dumps(change("d", before={"id": 1}))], STRING)
        assert table.texts() == {2: "second", 3: None}

    def test_what_is_no_change_of_a_row_is_named(self, table: LakeTable) -> None:
        owner = table.owner(UPSERT, delete_enabled="false", truncate_enabled="false")
        owner.start()
        values = [
            change("c", after=self.row(1, "x")),
            change("c", after={"id": None, table.text: "x"}),
            change("d", before=self.row(1, None)),
            change("t"),
            change("x"),
        ]
        with pytest.raises(RecordError, match="4 values cannot be written"):
            owner.write(values, envelopes(table.rows))
        assert dict(owner.task.unwritable(pa.nulls(5))) == {
            1: "id is null, and the column takes no null",
            2: "deletes a row, and delete.enabled is false",
            3: "truncates the table, and truncate.enabled is false",
            4: "the change has the op 'x' and not the row that belongs to it",
        }
        with pytest.raises(RecordError, match=r"the record has no field id, which the key of rows has"):
            owner.write([{table.text: "x"}], struct([(table.text, TEXT)], name="row"))
        assert not table.is_there()

    @pytest.mark.slow
    def test_rows_that_another_task_changes_meanwhile_are_looked_at_again(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = table.owner(UPSERT), table.owner(UPSERT, task=1)
        one.start()
        one.rows(k0="zero", k1="one")
        # A column that comes may be a commit of its own.
        one.write([change("u", after=self.row(1, "one", more=1))], envelopes(table.wider_rows))
        other.start()
        before = table.on_the_disk()
        # Who has looked before would keep the old text.
        keeps = [change("u", after=self.row(0, None, more=5), unchanged=[table.text])]
        with pytest.raises(RetriableError, match=r"another commit was|has changed the rows that were looked at"):
            table.in_the_middle_of_a_change(
                monkeypatch,
                lambda: other.rows(k0="other", k2="two"),
                lambda: one.write(keeps, envelopes(table.wider_rows)),
            )
        assert table.texts() == {0: "other", 1: "one", 2: "two"}
        assert not table.clears or len(table.on_the_disk() - before) == 1
        one.write(keeps, envelopes(table.wider_rows))
        assert table.texts() == {0: "other", 1: "one", 2: "two"}

    def test_an_owner_that_is_replaced_in_the_middle_of_a_change_changes_nothing(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zombie, new = table.owner(UPSERT), table.owner(UPSERT, owner=(1, 2))
        zombie.start()
        zombie.rows(k0="zero")
        with pytest.raises((PermanentError, RetriableError), match=r"a newer owner|another commit was"):
            table.in_the_middle_of_a_change(monkeypatch, new.start, lambda: zombie.rows(k0="zombie"))
        with pytest.raises(PermanentError, match="a newer owner"):
            zombie.rows(k0="zombie")
        assert table.texts() == {0: "zero"}
        new.rows(k0="new")
        assert table.texts() == {0: "new"}
        assert table.ids() == [0]

    @pytest.mark.parametrize("behind", [pytest.param(False, marks=pytest.mark.slow), True], ids=["before", "behind"])
    def test_killed_at_its_commit_each_change_is_made_once(self, table: LakeTable, behind: bool) -> None:
        owner = table.owner(UPSERT)
        owner.start()
        owner.rows(k0="zero", k1="one")

        def work() -> None:
            table.changes.kill(behind=behind)
            owner.write([change("d", before=self.row(0, None)), change("c", after=self.row(2, "two"))], envelopes(table.rows))

        assert run_and_kill(work, 1_000_000)
        assert table.texts() == ({1: "one", 2: "two"} if behind else {0: "zero", 1: "one"})
        new = table.owner(UPSERT, owner=(1, 2))
        assert new.start() == {QUEUE: QueuePosition(4 if behind else 2)}
        new.rows(k0="again")
        assert table.texts() == ({0: "again", 1: "one", 2: "two"} if behind else {0: "again", 1: "one"})

"""A table of a lake from its first row to its last one, with Spark: what `make test` has of each lake."""

from pathlib import Path
from typing import ClassVar

from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.lakes.changes import QUEUE, change, envelopes
from tests.connectors.lakes.table import ONE, UPSERT, LakeTable, commit_of


class SmokeSuite:
    """Subclass it, and say which lake it is."""

    lake: ClassVar[type[LakeTable]]

    def test_rows_are_added_and_the_next_owner_adds_none_again(self, tmp_path: Path) -> None:
        table = self.lake(tmp_path / "table of [ü] *")
        owner = table.owner(partition_by="day")
        owner.start()
        owner.append(0, 10)
        again = table.owner(owner=(1, 2), partition_by="day")
        assert again.start() == {QUEUE: QueuePosition(10)}
        again.put([{"id": number, "day": 5} for number in range(10)], ONE, commit_of(QUEUE, 0, 10))
        again.append(10, 12, day=6)
        assert table.ids() == list(range(12))
        assert table.partitions() == ["day"]

    def test_rows_are_changed_and_deleted_once_though_their_writer_is_killed_behind_its_commit(self, tmp_path: Path) -> None:
        table = self.lake(tmp_path / "table")
        owner = table.owner(UPSERT)
        owner.start()
        owner.rows(k0="zero", k1="one")
        text = table.text

        def work() -> None:
            table.changes.kill(behind=True)
            changes = [change("d", before={"id": 0, text: None}), change("u", after={"id": 1, text: "newer"})]
            owner.write([*changes, change("c", after={"id": 2, text: "two"})], envelopes(table.rows))

        assert run_and_kill(work, 1_000_000)
        assert table.texts() == {1: "newer", 2: "two"}
        new = table.owner(UPSERT, owner=(1, 2))
        assert new.start() == {QUEUE: QueuePosition(5)}
        new.rows(k2="newest")
        assert table.texts() == {1: "newer", 2: "newest"}
        assert table.ids() == [1, 2]

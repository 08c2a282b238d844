"""The suite of all sinks, over tables of lakes: rows, JSON by columns into partitions, and rows with a key."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.connectors.lakes.changes import Row
from tests.connectors.lakes.table import LakeTable

ROW = struct(
    [("queue", Schema(Type.INT32)), ("offset", Schema(Type.INT64)), ("text", Schema(Type.STRING, optional=True))], name="row"
)


def row(queue: int, offset: int) -> Row:
    return {"queue": queue, "offset": offset, "text": None if offset % 7 == 0 else f'"ü", {offset}\n'}


def ordered(table: LakeTable) -> list[Row]:
    """The rows by offset: a table has no order."""
    return sorted(table.read(), key=lambda found: str(found["offset"]).zfill(9)) if table.is_there() else []


def case_of(table: LakeTable, directory: Path | None = None) -> SinkCase:
    """Rows are added to the table; the directory can be full."""
    calls = {f"{seam.module.__name__}:{seam.name}" for seam in (table.claims, table.appends)}
    return SinkCase(
        table.sink(),
        table.options,
        lambda: ordered(table),
        row,
        ROW,
        directory,
        settings=table.settings(),
        calls=tuple(sorted(calls)),
    )


class LakeSuite(SinkSuite):
    """Subclass it, and give a fixture named `case`.

    Class attributes:
        first_step: The step before which it is killed first; then before each fourth one behind it.
    """

    first_step: ClassVar[int] = 1

    @pytest.mark.parametrize(("older", "newer"), [pytest.param((1, 1), (1, 2), marks=pytest.mark.slow), ((1, 9), (2, 10))])
    def test_an_older_owner_is_refused(self, case: SinkCase, older: tuple[int, int], newer: tuple[int, int]) -> None:
        """A newer plan has higher epochs, too: the cluster service draws all of them from one number."""
        super().test_an_older_owner_is_refused(case, older, newer)

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """A step takes seconds, and there are some tens of them: one suite of a lake takes those that another one leaves out."""
        self.killed_at_steps(case, 4, self.first_step)


class RowsSuite(LakeSuite):
    """Subclass it, and say which lake it is; so with those below."""

    lake: ClassVar[type[LakeTable]]

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return case_of(self.lake(tmp_path / "table of [ü] *"), tmp_path)


class JsonSuite(LakeSuite):
    """JSON by columns, in partitions."""

    first_step = 3
    lake: ClassVar[type[LakeTable]]
    partitions: ClassVar[str] = "queue"

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        table = self.lake(tmp_path / "table")

        def value(queue: int, offset: int) -> str:
            return json.dumps({"queue": queue, "offset": offset})

        return SinkCase(
            table.sink(),
            {**table.options, "columns": "queue:int32,offset:int64", "partition.by": self.partitions},
            lambda: [json.dumps(found) for found in ordered(table)],
            value,
            STRING,
            tmp_path,
            unwritable='{"queue": "first"}',
            settings=table.settings(),
        )


class UpsertsSuite(LakeSuite):
    """Rows with a key."""

    lake: ClassVar[type[LakeTable]]

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        table = self.lake(tmp_path / "table")
        options = {**table.options, "insert.mode": "upsert", "pk.fields": "queue,offset"}
        return SinkCase(table.sink(), options, lambda: ordered(table), row, ROW, tmp_path, settings=table.settings())

    @pytest.mark.skip(reason="the steps are those of rows without a key but for the commit, which has tests of its own")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are some tens of steps."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.connectors.iceberg_source.tables import Lake, numbered


class TestAllRowsThenWhatIsAdded(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        lake = Lake(tmp_path)
        lake.write(numbered(*range(4)))
        lake.write(numbered(*range(4, 7)))
        return lake.case(key_columns="id")


class TestSnapshotBySnapshot(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        lake = Lake(tmp_path)
        for begin in range(0, 9, 3):
            lake.write(numbered(*range(begin, begin + 3)))
        first = lake.table.metadata.snapshots[0].snapshot_id
        return replace(lake.case(start=str(first)), expected=numbered(*range(9)))

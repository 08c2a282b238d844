from pathlib import Path

import pytest

from connectors.delta_sink import table
from tests.connectors.delta_sink.tables import Delta
from tests.connectors.lakes.small_files import SmallFilesSuite
from tests.connectors.lakes.table import LakeTable, Seam

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestSmallFiles(SmallFilesSuite):
    lake = Delta
    compacts = Seam(table, "optimize")
    enough = 2

    @pytest.fixture(autouse=True)
    def _synced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced = set[Path]()
        monkeypatch.setattr(table, "sync", self.synced.add)

    def is_marked(self, table: LakeTable) -> None:
        """The log says it, and all of it is on the disk."""
        assert isinstance(table, Delta)
        newest = table.newest
        assert newest.history(1)[0]["operation"] == "OPTIMIZE"
        log = table.root / "_delta_log" / f"{newest.version():020}.json"
        assert {log, *map(Path, newest.file_uris())} <= self.synced

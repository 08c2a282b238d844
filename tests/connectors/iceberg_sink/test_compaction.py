from collections.abc import Callable

import pytest

from connectors.iceberg_sink import catalogs
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.small_files import SmallFilesSuite
from tests.connectors.lakes.table import LakeTable, Seam

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestSmallFiles(SmallFilesSuite):
    lake = Iceberg
    compacts = Seam(catalogs, "link")
    enough = 3

    def in_front(self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
        """The commit of the batch is one, too."""
        self.compacts.in_front(monkeypatch, lambda: self.compacts.in_front(monkeypatch, happens))

    def instead(self, monkeypatch: pytest.MonkeyPatch, does: Callable[..., None]) -> None:
        """As in_front()."""
        self.compacts.in_front(monkeypatch, lambda: monkeypatch.setattr(catalogs, "link", does))

    def is_marked(self, table: LakeTable) -> None:
        assert isinstance(table, Iceberg)
        snapshot = table.newest.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        assert snapshot.summary.operation.value == "replace"

    def is_overtaken(self, said: str) -> None:
        assert "small files were not put together, which is tried again in 0.001 s" in said

    @pytest.mark.slow
    def test_one_that_is_replaced_meanwhile_puts_nothing_together(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        owner, newer = self.grown(table), table.owner(owner=(1, 2))
        self.in_front(monkeypatch, newer.start)
        self.grow(owner)
        assert "a newer owner" in caplog.text
        assert len(table.files()) == 3
        assert table.ids() == list(range(30))

"""The soak with few of each, and whether it finds what grows."""

from pathlib import Path

import pytest

from rocketconnect_sdk.files.gone import GoneObjects
from services.config.forgetting.rows import ForgettingStore
from tests.growth import soak


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "LIVING_OBJECTS", 20)
    monkeypatch.setattr(soak, "KEPT_DAYS", 3)
    monkeypatch.setattr(soak, "_EPOCHS_OF_A_PLAN", 4)


def test_the_positions_of_passing_objects_are_flat(tmp_path: Path) -> None:
    curve = soak.soak_objects(tmp_path, 600)
    assert curve.growing() == []
    assert curve.points[-1].rows["position_positions"] <= 20


def test_many_epochs_leave_the_rows_of_the_last(tmp_path: Path) -> None:
    curve = soak.soak_epochs(tmp_path, 120)
    assert curve.growing() == []
    assert curve.points[-1].rows["position_tasks"] == 4
    assert curve.points[-1].rows["position_positions"] == 8
    assert curve.points[-1].rows["position_snapshots"] <= 20


def test_deleted_connectors_leave_one_row_each(tmp_path: Path) -> None:
    curve = soak.soak_connectors(tmp_path, 20)
    assert curve.growing() == []
    last = curve.points[-1].rows
    assert last["position_connectors"] == 20
    assert max(count for table, count in last.items() if table.startswith("config_") and table != "config_requests") <= 20
    assert "position_connectors" in curve.table()


def test_what_grows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GoneObjects, "missing", lambda *_: None)
    monkeypatch.setattr(ForgettingStore, "forget", lambda *_: 0)
    for name, part, count, table in (
        ("a", soak.soak_objects, 600, "position_positions"),
        ("b", soak.soak_connectors, 20, "config_revisions"),
    ):
        (tmp_path / name).mkdir()
        assert any(table in told for told in part(tmp_path / name, count).growing())

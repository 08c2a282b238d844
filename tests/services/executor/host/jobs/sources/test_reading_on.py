"""What a source is told of what it has read, before its configuration changes."""

from pathlib import Path
from typing import Any

import pytest

from connectors.file_source import FileSource
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckConnector, GivenPosition
from services.executor.host.jobs.plugins import check


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckConnector:
    """A change of the format of a source that has read; its plugin says what it was asked."""

    def reads_on(self: FileSource, before: Config, now: Config, positions: object) -> list[Problem]:
        said = f"{before['format']} {now['format']} {positions}"
        return [Problem("format", "", said, "", is_warning=True)]

    monkeypatch.setattr(FileSource, "reads_on", reads_on)
    (tmp_path / "in.txt").write_text('{"id": 1}\n')
    config = {"connector.class": "file_source", "filename": str(tmp_path / "in.txt"), "topic": "t"}
    now = {**config, "format": "jsonlines"}
    positions = {"p": GivenPosition([7]), "none": GivenPosition([])}
    return CheckConnector(now, Endpoints("127.0.0.1:1", ""), "in", previous=config, positions=positions)


def told(order: CheckConnector) -> list[str]:
    return [each.reason for each in check(order).warnings if each.key == "format"]


def test_a_source_is_asked_with_both_configurations_and_its_positions(asked: CheckConnector) -> None:
    (said,) = told(asked)
    assert said.startswith("text jsonlines {'p': Position(offset=(7,)")
    assert "none" not in said


def test_nobody_is_asked_of_a_new_connector_a_wrong_one_or_one_of_another_class(asked: CheckConnector) -> None:
    other = {**asked.previous, "connector.class": "jdbc_source"}
    wrong = {**asked.config, "topic": ""}
    former = {"connector.class": "file_source"}
    changes: list[dict[str, Any]] = [{"positions": {}}, {"previous": other}, {"config": wrong}, {"previous": former}]
    for changed in changes:
        given = {name: getattr(asked, name) for name in asked.__struct_fields__} | changed
        assert told(CheckConnector(**given)) == []

"""What a check finds: problems refuse, warnings are told beside them."""

from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import Checked
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.plugins.loader import PluginType
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckConnector
from services.executor.host.jobs import plugins
from services.executor.host.jobs.plugins import check

WARNING = Problem("a", "", "may surprise", "Look at it.", is_warning=True)
WRONG = Problem("b", "", "is wrong", "Mend it.")


def test_a_warning_is_not_among_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "check_connector", lambda *_: Checked("p", PluginType.SOURCE, [WARNING, WRONG], ()))
    found = check(CheckConnector({}, Endpoints("", "")))
    assert (found.problems, found.warnings) == ([WRONG], [WARNING])


def test_what_is_to_be_expected_is_a_note_and_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    note = Problem("columns", "infer", "finds id int64", "They are kept.", is_warning=True, is_note=True)
    for others in ([], [WRONG]):
        monkeypatch.setattr(plugins, "check_connector", lambda *_, others=others: Checked("p", None, [note, *others], ()))
        found = check(CheckConnector({}, Endpoints("", "")))
        assert (found.problems, found.warnings) == (others, [])
        assert found.notes == ["columns: finds id int64. They are kept."]


def test_a_secret_that_its_file_does_not_have_is_wrong_and_one_whose_file_is_not_there_may_be_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROCKETCONNECT_SECRET_FOLDERS", str(tmp_path))
    (tmp_path / "secrets").write_text("there=s3cr3t-value\n")

    def told(name: str) -> tuple[list[str], list[str]]:
        config = {
            "connector.class": "stdout",
            "topics": "t",
            "rocketmq.access.key": "me",
            "rocketmq.secret.key": f"${{file:{name}}}",
        }
        found = check(CheckConnector(config, Endpoints("127.0.0.1:1", "")))
        return [each.reason for each in found.problems], [each.reason for each in found.warnings if "file" in each.reason]

    assert told(f"{tmp_path}/secrets:lacking") == (["stands for a key that is not in the file"], [])
    problems, (warning,) = told(f"{tmp_path}/nowhere:lacking")
    assert (problems, warning) == ([], "stands for a file that cannot be read: No such file or directory")


def test_a_secret_that_cannot_be_read_is_told_under_its_option_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_SECRET_VARIABLES", "*")
    monkeypatch.delenv("NOT_THERE", raising=False)
    config = {
        "connector.class": "stdout",
        "topics": "${env:NOT_THERE}",
        "rocketmq.access.key": "me",
        "rocketmq.secret.key": "${env:NOT_THERE}",
    }
    found = check(CheckConnector(config, Endpoints("127.0.0.1:1", "")))
    assert {each.key for each in found.problems} == {"topics"}
    (warning,) = found.warnings
    assert (warning.key, warning.value) == ("rocketmq.secret.key", "${env:NOT_THERE}")
    assert warning.fix == "Set NOT_THERE where the executor is started, and start it again."
    # Nor is it told a second time by who would have looked into the topic with it.
    assert check(CheckConnector({**config, "topics": "orders"}, Endpoints("127.0.0.1:1", ""))).warnings == [warning]

"""What a check finds: problems refuse, warnings are told beside them."""

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

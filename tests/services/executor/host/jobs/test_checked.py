"""What a check finds: problems refuse, warnings are told beside them."""

import pytest

from rocketconnect_sdk.configuration.connector_options import Checked
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.plugins.loader import PluginType
from services.executor.contract.endpoints import Endpoints
from services.executor.host.jobs import plugins
from services.executor.host.jobs.plugins import check

WARNING = Problem("a", "", "may surprise", "Look at it.", is_warning=True)
WRONG = Problem("b", "", "is wrong", "Mend it.")


def test_a_warning_is_not_among_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "check_connector", lambda *_: Checked("p", PluginType.SOURCE, [WARNING, WRONG], ()))
    found = check({}, Endpoints("", ""))
    assert (found.problems, found.warnings) == ([WRONG], [WARNING])

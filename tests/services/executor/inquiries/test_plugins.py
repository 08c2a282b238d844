"""What an executor knows of the plugins that it has found."""

from typing import Any

import pytest

from services.executor.host.jobs.plugins import find_plugins
from services.executor.inquiries.plugins import Plugins


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("kafka_sink", "native"),
        ("elasticsearch_sink", "native"),
        ("delta_sink", "spark"),
        ("JdbcSinkConnector", "spark"),
        ("of nobody", "spark"),
    ],
)
def test_what_a_sink_runs_on_is_what_it_says_itself_where_nobody_says_it(name: str, engine: str) -> None:
    nobody: Any = None
    plugins = Plugins(nobody, 1.0)
    plugins.found = tuple(find_plugins().plugins)
    assert plugins.engine(name) == engine

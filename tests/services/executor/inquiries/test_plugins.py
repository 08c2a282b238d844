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
        ("JdbcSinkConnector", "native"),
        ("of nobody", "spark"),
    ],
)
def test_what_a_sink_runs_on_is_what_it_says_itself_where_nobody_says_it(name: str, engine: str) -> None:
    nobody: Any = None
    plugins = Plugins(nobody, 1.0)
    plugins.found = tuple(find_plugins().plugins)
    assert plugins.engine(name, "") == engine


@pytest.mark.parametrize(
    ("name", "asked", "engine"),
    [
        ("kafka_sink", "spark", "spark"),
        ("jdbc_sink", "spark", "native"),
        ("jdbc_sink", "native", "native"),
        ("of nobody", "native", "native"),
    ],
)
def test_a_sink_runs_on_what_is_asked_for_where_it_can(name: str, asked: str, engine: str) -> None:
    nobody: Any = None
    plugins = Plugins(nobody, 1.0)
    plugins.found = tuple(find_plugins().plugins)
    assert plugins.engine(name, asked) == engine

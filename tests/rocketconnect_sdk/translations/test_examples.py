import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.configuration.connector_options import sink_options, source_options
from rocketconnect_sdk.converters import converter_class
from rocketconnect_sdk.options import expanded, read
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.translations import translated
from rocketconnect_sdk.translations.rocketmq_connect import SYSTEM
from rocketconnect_sdk.translations.tables import Named, Table

EXAMPLES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "examples.toml").read_text())["example"]
KAFKA = "org.apache.kafka."


def wrong(config: Mapping[str, str]) -> dict[str, str]:
    """What the options of the plugin say of a configuration, without asking any server."""
    plugin = find(config["connector.class"])
    options = sink_options(plugin) if isinstance(plugin, Sink) else source_options(plugin)
    prefixes = ("key.converter.", "value.converter.", "transforms.")
    _, problems = read(options, config, known_prefixes=prefixes)
    for key in ("key.converter", "value.converter"):
        converter_class(config.get(key, "string"))
    return {problem.key: problem.reason for problem in problems}


@pytest.mark.parametrize("example", EXAMPLES, ids=[each["page"] for each in EXAMPLES])
def test_a_published_configuration_is_one_of_ours(example: dict[str, Any]) -> None:
    found = translated({**example["given"], **example.get("with", {})})
    assert [problem.key for problem in found.problems] == example.get("refused", [])
    assert {key: found.config.get(key) for key in example["ours"]} == example["ours"]
    assert found.warnings[0].key == "connector.class"
    assert example["ours"]["connector.class"] in found.warnings[0].reason
    if not example["ours"]["connector.class"].startswith(KAFKA):
        assert wrong(found.config) == {}


@pytest.mark.parametrize("example", EXAMPLES, ids=[each["page"] for each in EXAMPLES])
def test_what_was_translated_is_ours_and_stays_as_it_is(example: dict[str, Any]) -> None:
    once = translated(example["given"]).config
    again = translated(once)
    assert (again.config, again.warnings, again.problems) == (once, (), ())


@pytest.mark.parametrize("table", SYSTEM.tables, ids=[table.classes[-1] for table in SYSTEM.tables])
def test_a_table_names_options_that_its_plugin_has(table: Table) -> None:
    if not table.plugin:
        return
    plugin = find(table.plugin)
    options = sink_options(plugin) if isinstance(plugin, Sink) else source_options(plugin)
    keys = {option.key for option in expanded(options, {})}
    named = {rule.ours for rule in table.options.values() if isinstance(rule, Named)}
    assert named | set(table.defaults) <= keys


def test_no_two_tables_have_a_class() -> None:
    names = [name.lower() for table in SYSTEM.tables for name in table.classes]
    assert sorted(names) == sorted(set(names))
    assert not set(names) & {name.lower() for name in SYSTEM.absent}

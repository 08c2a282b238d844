"""Whose the options of a plugin are."""

import pytest

from services.executor.host.jobs.plugins import find_plugins


@pytest.mark.parametrize(
    ("plugin", "groups"),
    [
        ("file_source", {"filename": "", "topic": "source", "value.converter": "converters", "max.tasks": "common"}),
        ("file_sink", {"filename": "", "topics": "sink", "key.converter": "converters", "errors.tolerance": "common"}),
        ("direct", {"max.tasks": "", "errors.tolerance": ""}),
        ("cast", {"spec": "", "predicate": "common"}),
        ("avro", {"schema.registry.url": ""}),
    ],
)
def test_an_option_says_whose_it_is(plugin: str, groups: dict[str, str]) -> None:
    (found,) = (each for each in find_plugins().plugins if each.name == plugin)
    assert {option.key: option.group for option in found.options if option.key in groups} == groups
    kinds = {"", *groups.values()} | {"common"}
    assert {option.group for option in found.options} <= kinds

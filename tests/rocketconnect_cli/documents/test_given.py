"""Configurations in files of any form."""

from pathlib import Path

import pytest

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.documents.given import read

ONE = "name: orders\nconfig:\n  connector.class: file_source\n  max.tasks: 2\n"


def test_a_connector_in_yaml_is_read_with_its_name_and_pairs_on_top(tmp_path: Path) -> None:
    for ending in ("yaml", "yml"):
        file = tmp_path / f"a.{ending}"
        file.write_text(ONE)
        assert read(file, ["max.tasks=3"]) == ("orders", {"connector.class": "file_source", "max.tasks": "3"})


def test_other_forms_have_no_name(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text("connector.class=file_source\n")
    assert read(file, []) == read(None, ["connector.class=file_source"]) == ("", {"connector.class": "file_source"})


def test_several_connectors_where_one_is_wanted_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{ONE}---\n{ONE.replace('orders', 'payments')}")
    with pytest.raises(ApiError) as wrong:
        read(file, [])
    assert wrong.value.exit_code is Exit.WRONG
    assert [each["reason"] for each in wrong.value.problems] == ["holds 2 connectors: orders, payments"]


def test_what_is_wrong_with_yaml_is_told_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: orders\nconfig:\n  topics: [a, b]\n")
    with pytest.raises(ApiError) as wrong:
        read(file, [])
    assert [each["key"] for each in wrong.value.problems] == [f"{file}:3: config topics"]

"""A converter that cannot write what a source gives is told before the source runs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import Problem
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckConnector
from services.executor.host.jobs.plugins import check
from services.executor.host.jobs.sources.converting import unwritten


def told(path: Path, **options: str) -> Sequence[Problem]:
    config = {"connector.class": "file_source", "topic": "t", "filename": str(path)}
    config |= {key.replace("_", "."): value for key, value in options.items()}
    return unwritten(config, check_connector(config).problems)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("one\n2\nthree\n")
    return path


def test_numbers_that_a_source_of_text_does_not_give_are_told_with_how_many_records_and_what_to_set(lines: Path) -> None:
    (warning,) = told(lines, value_converter="integer")
    assert (warning.key, warning.value, warning.is_warning) == ("value.converter", "integer", True)
    assert warning.reason == "cannot write 3 of the first 3 records: it writes numbers alone, and text is no integer"
    assert warning.fix.startswith("Leave it out for text, or set it to json, which takes anything; or let transforms make")


def test_the_check_of_a_connector_tells_it(lines: Path) -> None:
    config = {"connector.class": "file_source", "topic": "t", "filename": str(lines), "value.converter": "integer"}
    found = check(CheckConnector(config, Endpoints("127.0.0.1:1", "")))
    assert "value.converter" in [each.key for each in found.warnings]


def test_what_transforms_make_of_records_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,name\n1,a\n")
    take = {"format": "csv", "value_converter": "integer", "transforms": "id"}
    take |= {"transforms_id_type": "extract_field", "transforms_id_field": "id"}
    assert told(path, **take, columns="id:int32,name") == []
    (warning,) = told(path, **take, columns="id,name")
    assert "cannot write the only record" in warning.reason


def test_records_without_an_id_that_are_to_be_events_are_told(lines: Path) -> None:
    (warning,) = told(lines, value_converter="cloudevents")
    assert "nothing says its id: set value.converter.id=" in warning.reason
    assert told(lines, value_converter="cloudevents", value_converter_id="${topic}-${value}") == []


def test_the_converter_of_keys_is_tried_too(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,name\n1,a\nx,b\n")
    (warning,) = told(path, format="csv", value_converter="json", key_field="id", key_converter="long")
    assert warning.key == "key.converter"


def test_nothing_is_told_of_what_can_be_written_is_not_there_or_is_told_already(lines: Path) -> None:
    assert told(lines) == []
    assert told(lines.with_name("absent"), value_converter="integer") == []
    assert told(lines, value_converter="arrow") == []
    assert told(lines, value_converter="integer", format="none") == []

"""What file_source says that it reads."""

from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.origins.origin import Origin


def origins(filename: Path, **more: str) -> list[Origin]:
    config = {"connector.class": "file_source", "filename": str(filename), "topic": "orders", **more}
    found = check_connector(config).origins
    assert found is not None
    return list(found)


def test_a_file_is_the_same_by_any_link_and_its_topic_by_any_name_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    assert origins(tmp_path / "link.csv") == origins(tmp_path / "in.csv")
    config = {"connector.class": "FileSource", "filename": str(tmp_path / "in.csv"), "connect.topicname": "orders"}
    assert check_connector(config).origins == origins(tmp_path / "in.csv")


def test_a_pattern_means_a_file_also_behind_a_link_to_its_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (pattern,), (file,) = origins(tmp_path / "link" / "*.csv"), origins(tmp_path / "real" / "in.csv")
    assert pattern.overlaps(file)
    assert not pattern.overlaps(*origins(tmp_path / "real" / "in.txt"))


def test_files_of_workers_with_other_labels_are_other_files(tmp_path: Path) -> None:
    assert origins(tmp_path / "in.csv", **{"worker.labels": "zone=a"}) != origins(tmp_path / "in.csv")


@pytest.mark.parametrize(("given", "is_shared"), [("true", True), ("false", False)])
def test_that_another_one_may_read_the_same_is_an_option(tmp_path: Path, given: str, is_shared: bool) -> None:
    config = {"connector.class": "file_source", "filename": str(tmp_path / "a"), "topic": "t", "origin.shared": given}
    assert check_connector(config).is_shared is is_shared


def test_nothing_is_known_of_a_configuration_whose_file_or_topic_is_wrong(tmp_path: Path) -> None:
    assert check_connector({"connector.class": "file_source", "filename": "relative", "topic": "t"}).origins is None
    assert check_connector({"connector.class": "file_source", "filename": str(tmp_path / "a")}).origins is None

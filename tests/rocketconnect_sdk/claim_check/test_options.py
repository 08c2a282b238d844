"""What is wrong with the claim check of a configuration."""

from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector

SOURCE = {"connector.class": "file_source", "topic": "t", "file": "/in.txt", "topic.allowed": "*"}
SINK = {"connector.class": "stdout", "topics": "t"}
S3 = {
    "claim.check.url": "s3://bucket/bodies",
    "claim.check.access.key.id": "me",
    "claim.check.secret.access.key": "${env:SECRET}",
}


def told(config: dict[str, str]) -> dict[str, str]:
    found = check_connector(config).problems
    return {problem.key: problem.reason for problem in found if problem.key.startswith("claim.check")}


@pytest.mark.parametrize("config", [SOURCE, SINK])
def test_a_folder_and_a_bucket_are_right_and_keys_of_it_are_secrets(config: dict[str, str], tmp_path: Path) -> None:
    assert told(config | {"claim.check.url": f"file://{tmp_path}"}) == {}
    assert told(config | S3) == {}
    assert "claim.check.secret.access.key" in check_connector(config | S3).secret_keys
    assert "claim.check.access.key.id" in told(config | {"claim.check.url": "s3://bucket/bodies"})


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    assert told(SOURCE | {"claim.check.threshold": "2MiB", "claim.check.region": "eu"}) == dict.fromkeys(
        ("claim.check.threshold", "claim.check.region"), "means nothing without claim.check.url"
    )
    assert told(SINK | {"claim.check.url": "hdfs://host/folder"}) == {"claim.check.url": "is no place for bodies"}
    assert "names none of" in told(SINK | {"claim.check.url": "http://elsewhere/"})["claim.check.url"]
    url = {"claim.check.url": f"file://{tmp_path}"}
    assert told(
        SOURCE | url | {"value.converter": "arrow", "claim.check.max.bytes": "1KiB", "claim.check.region": "eu"}
    ).keys() == {
        "claim.check.url",
        "claim.check.threshold",
        "claim.check.region",
    }
    assert told(SINK | url | {"claim.check.threshold": "2MiB"}) != {}, "sinks have no threshold"


def test_connectors_of_whole_messages_have_none(tmp_path: Path) -> None:
    sink = {"connector.class": "rocketmq_sink", "topics": "t", "name.servers": "127.0.0.1:1"}
    assert "whole messages" in told(sink | {"claim.check.url": f"file://{tmp_path}"})["claim.check.url"]


def test_a_folder_is_one_that_the_operator_lets_connectors_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_WRITE_ROOTS", str(tmp_path))
    monkeypatch.setenv("ROCKETCONNECT_READ_ROOTS", str(tmp_path))
    for config in (SOURCE, SINK):
        assert told(config | {"claim.check.url": f"file://{tmp_path}/bodies"}) == {}
        assert "lets connectors" in told(config | {"claim.check.url": "file:///etc"})["claim.check.url"]

"""Whether a plugin is of Kafka Connect or RocketMQ Connect is told by what its classes extend."""

import zipfile
from pathlib import Path

import pytest

from rocketconnect_cli.kafka_plugins.apis import api_of

EXTENDS = b"\xca\xfe io/openmessaging/connector/api/component/task/sink/SinkConnector"


@pytest.mark.parametrize(
    ("entry", "content", "api"),
    [
        ("org/example/Weather.class", EXTENDS, "rocketmq"),
        ("org/example/Weather.class", b"\xca\xfe org/apache/kafka/connect/sink/SinkConnector", "kafka"),
        ("org/example/readme.txt", EXTENDS, "kafka"),
        # The API itself, which some plugins bring.
        ("io/openmessaging/connector/api/component/task/sink/SinkConnector.class", EXTENDS, "kafka"),
    ],
)
def test_one_class_that_extends_a_connector_of_rocketmq_connect_tells(tmp_path: Path, entry: str, content: bytes, api: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("org/example/Other.class", b"\xca\xfe")
        jar.writestr(entry, content)
    assert api_of([tmp_path / "a.jar"]) == api


def test_a_jar_that_cannot_be_read_is_left_to_who_looks_for_its_connectors(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(b"no jar")
    assert api_of([tmp_path / "a.jar", tmp_path / "absent.jar"]) == "kafka"

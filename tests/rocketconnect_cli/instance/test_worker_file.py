"""What `rocketconnect up --conf` makes of the file of a worker."""

from pathlib import Path

import pytest

from rocketconnect_cli.instance import worker_file
from rocketconnect_cli.instance.worker_file import WorkerFile, of

STANDALONE = """\
# as apache/rocketmq-connect has it in distribution/conf/connect-standalone.conf
workerId=standalone-worker
storePathRootDir=/tmp/storeRoot

## Http port for user to access REST API
httpPort=8090

# Rocketmq namesrvAddr
namesrvAddr=10.0.0.1:9876;mq-2:9876

# RocketMQ acl
aclEnable=true
accessKey=rocketmq
secretKey=hush-12345678
clusterName="DefaultCluster"

# Plugin path for loading Source/Sink Connectors
pluginPaths=/usr/local/connector-plugins
"""


def read(text: str) -> WorkerFile:
    return of(text, Path("worker.conf"))


def test_what_has_a_counterpart_is_taken_and_all_else_is_told_with_why() -> None:
    told = read(STANDALONE)
    assert (told.system, told.namesrv, told.rest_port, told.problems) == ("RocketMQ Connect", "10.0.0.1:9876;mq-2:9876", 8090, [])
    assert told.environment == {
        "ROCKETCONNECT_ROCKETMQ_ACCESS_KEY": "rocketmq",
        "ROCKETCONNECT_ROCKETMQ_SECRET_KEY": "hush-12345678",
    }
    assert [note.split()[0].rstrip(":") for note in told.notes] == [
        "httpPort",
        "workerId",
        "storePathRootDir",
        "clusterName",
        "pluginPaths",
    ]
    notes = "\n".join(told.notes)
    for said in (
        "httpPort: REST answers at 8090, for this machine alone (--host)",
        "rocketconnect import rocketmq-connect /tmp/storeRoot",
        "clusterName is left out: it is no key of a worker of RocketMQ Connect",
        "`rocketconnect plugins install /usr/local/connector-plugins/PLUGIN` takes each plugin in /usr/local/connector-plugins",
    ):
        assert said in notes
    assert "hush" not in notes + repr(told)


def test_everything_that_is_wrong_is_told_at_once_and_no_secret() -> None:
    told = read("httpPort=http\nnamesrvAddr=mq:9876;mq\naclEnable=true\nsecretKey=hush\nhush-without-a-sign\n")
    assert len(told.problems) == 4
    wrong = "\n".join(told.problems)
    for said in (
        "worker.conf:5 has no =",
        "httpPort is 'http', which is no port",
        "namesrvAddr has 'mq', which is no HOST:PORT",
        "aclEnable is true, and accessKey is not there",
    ):
        assert said in wrong
    assert "hush" not in wrong


def test_a_login_that_is_switched_off_is_not_taken() -> None:
    told = read("namesrvAddr=mq:9876\naccessKey=a\nsecretKey=hush\n")
    assert (told.environment, told.notes) == (
        {},
        ["accessKey is left out: aclEnable is not true", "secretKey is left out: aclEnable is not true"],
    )


def test_a_file_without_name_servers_says_that_an_embedded_rocketmq_is_started() -> None:
    told = read("")
    assert (told.namesrv, told.rest_port) == ("", None)
    assert told.notes == ["namesrvAddr is not there: an embedded RocketMQ is started, unless --namesrv names one"]


KAFKA = """\
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
offset.storage.file.filename=/tmp/connect.offsets
offset.flush.interval.ms=10000
listeners=HTTP://:8083,https://0.0.0.0:8443
plugin.path=/usr/local/share/java, /opt/connectors
config.providers=file
producer.acks=all
sasl.jaas.config=hush
my.own=1
"""


def test_the_file_of_a_worker_of_kafka_is_known_by_its_servers() -> None:
    told = read(KAFKA)
    assert (told.system, told.namesrv, told.rest_port, told.environment, told.problems) == ("Kafka Connect", "", 8083, {}, [])
    notes = "\n".join(told.notes)
    for key in ("bootstrap.servers", "key.converter.schemas.enable", "offset.storage.file.filename", "offset.flush.interval.ms"):
        assert f"{key} is left out: " in notes
    for said in (
        "listeners has several",
        "`rocketconnect plugins install /opt/connectors/PLUGIN`",
        "`rocketconnect import kafka-connect URL --worker-config worker.conf` takes it",
        "${env:NAME}, ${file:PATH:KEY}",
        "my.own is left out: it is not known here",
    ):
        assert said in notes
    assert "hush" not in notes
    assert read("bootstrap.servers=a:1\nrest.port=8084\n").rest_port == 8084
    assert read("bootstrap.servers=a:1\nlisteners=http://h:99999\n").problems == [
        "listeners is '99999', which is no port. Give a number from 1 to 65535"
    ]


def test_every_key_of_a_worker_of_rocketmq_connect_is_told_or_taken() -> None:
    """No text breaks on a value with braces."""
    keys = (*worker_file._ROCKETMQ_KEYS, "no.such.key")
    told = read("namesrvAddr=mq:9876\n" + "".join(f"{key}={{x}}\n" for key in keys))
    assert (told.problems, len(told.notes)) == ([], len(keys))


@pytest.mark.parametrize("content", [b"a=\xff", b"x" * (worker_file.MOST_BYTES + 1)])
def test_a_file_that_is_none_of_a_worker_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "conf").write_bytes(content)
    with pytest.raises(ValueError, match=r"decode|larger than 1 MiB"):
        worker_file.read(tmp_path / "conf")

"""A check looks at the newest messages of a sink's topics, on a real broker."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketmq_remoting import Client, Message
from services.executor.contract.answers import Checked
from services.executor.contract.endpoints import Endpoints
from services.executor.host.jobs.newest import SECONDS
from services.executor.host.jobs.plugins import check

pytestmark = pytest.mark.rocketmq
TOMBSTONE = b"-"
PACKED = Rows(*array_of([{"n": 1}], struct([("n", Schema(Type.INT64))])), offsets_of([(1,)])).pack()


@pytest.fixture(scope="module")
def client(rocketmq: EmbeddedRocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server) as made:
        yield made


@pytest.fixture(autouse=True)
def _may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_WRITE_ROOTS", str(tmp_path))


def filled(client: Client, topic: str, *bodies: bytes) -> None:
    client.create_topic(topic, queues=2)
    queues = client.queues(topic)
    for number, body in enumerate(bodies):
        properties = {"connect-tombstone": "1"} if body == TOMBSTONE else {}
        client.send(queues[number % 2], Message(body, properties=properties))


def checked(name_server: str, topics: str, folder: Path, **options: str) -> Checked:
    config = {"connector.class": "file_sink", "topics": topics, "filename": str(folder / "out"), "format": "parquet"}
    return check(config | {key.replace("_", "."): value for key, value in options.items()}, Endpoints(name_server, ""))


def test_the_options_that_are_proposed_are_right(rocketmq: EmbeddedRocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-books", *(b'{"year":%d}' % year for year in range(1900, 1950)), TOMBSTONE)
    found = checked(rocketmq.name_server, "newest-books,newest-nobody-made", tmp_path)
    (problem,) = found.problems
    # One of the 20 is a tombstone.
    assert "the newest 19 messages of `newest-books` hold JSON objects without a schema; their fields: year int64" in problem.reason
    assert problem.fix == "Set columns=year:int64."
    assert checked(rocketmq.name_server, "newest-books", tmp_path, columns="year:int64") == Checked(
        found.plugin, found.direction, [], [], targets=[]
    )


def test_a_converter_that_cannot_read_what_is_there_is_refused(rocketmq: EmbeddedRocketMQ, client: Client, tmp_path: Path) -> None:
    filled(client, "newest-packed", PACKED, PACKED)
    for options in ({}, {"value_converter": "json"}, {"columns": "n:int64"}):
        (problem,) = checked(rocketmq.name_server, "newest-packed", tmp_path, **options).problems
        assert (problem.key, problem.fix) == ("value.converter", "Set value.converter=arrow.")
    tolerant = {"value_converter": "json", "errors_tolerance": "all"}
    found = checked(rocketmq.name_server, "newest-packed", tmp_path, **tolerant)
    assert (found.problems, [each.fix for each in found.warnings]) == ([], ["Set value.converter=arrow."])
    found = checked(rocketmq.name_server, "newest-packed", tmp_path, value_converter="arrow")
    assert (found.problems, found.warnings) == ([], [])
    # A file of lines has no columns, and takes whatever there is.
    assert checked(rocketmq.name_server, "newest-packed", tmp_path, format="text").problems == []


def test_topics_without_messages_and_brokers_that_are_away_refuse_nothing(
    rocketmq: EmbeddedRocketMQ, client: Client, tmp_path: Path
) -> None:
    filled(client, "newest-empty")
    found = checked(rocketmq.name_server, "newest-empty", tmp_path, value_converter="json")
    assert (found.problems, found.warnings) == ([], [])
    began = time.monotonic()
    found = checked("127.0.0.1:1", "newest-empty", tmp_path, value_converter="json")
    assert found.problems == []
    assert [(each.key, each.reason.partition(":")[0]) for each in found.warnings] == [("topics", "cannot be looked at now")]
    assert time.monotonic() - began < SECONDS + 60

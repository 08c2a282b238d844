"""One bad record among 10,000 that are one batch costs that record: its dead letter says where and why, and has its bytes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketmq_remoting.batch import EncodedBatch, encode_batch
from rocketmq_remoting.model import Compression, Message
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, MAX_BODY_BYTES, compress
from services.executor.contract.task import Kind
from tests.registry.server import TestRegistry, running
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq

COUNT = 10_000
POISONED = 6_789
SCHEMA = struct([("n", Schema(Type.INT64)), ("s", STRING)])
ROWS = [{"n": number, "s": str(number)} for number in range(COUNT)]
GOOD = [row for row in ROWS if row["n"] != POISONED]


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        yield found


def put(tasks: Tasks, bodies: Sequence[bytes]) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    for start in range(0, COUNT, 2_000):
        tasks.client.send_batch(queue, [Message(body) for body in bodies[start : start + 2_000]], 20)


def letter(tasks: Tasks, topic: str) -> tuple[bytes, dict[str, str]]:
    """The only one."""
    found = []
    for queue in tasks.client.queues(topic):
        tasks.client.barrier(queue.broker)
        found += [message for message in tasks.client.pull(queue, 0).messages if message.body]
    (message,) = found
    prefix = "__connect.errors."
    return message.body, {name.removeprefix(prefix): value for name, value in message.properties.items()}


def run(tasks: Tasks, config: Mapping[str, str], good: int = COUNT - 1) -> tuple[list[Any], bytes, dict[str, str]]:
    """What a sink has written, and the dead letter."""
    dead = f"dead-{tasks.unique}"
    file = tasks.path / "out"
    own = {"connector.class": "file_lines", "engine": "native", "filename": str(file), "batch.records": str(COUNT)}
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}
    sink = tasks.start(Kind.SINK, {**own, **tolerant, **config})
    sink.reporter.wait_for_out(good, 180)
    assert sink.stop().clean
    assert sink.reporter.metrics.dead_letters == 1
    return [json.loads(line) for line in file.read_text().splitlines()], *letter(tasks, dead)


@pytest.mark.parametrize(
    "name", ["json", *(pytest.param(name, marks=pytest.mark.slow) for name in ("avro", "json_schema", "protobuf"))]
)
def test_of_bytes_that_a_converter_cannot_read(tasks: Tasks, registry: TestRegistry, name: str) -> None:
    options = {} if name == "json" else {"schema.registry.url": registry.url}
    writing = converter(name, options, is_key=False)
    writing.for_topic(tasks.topic)
    bodies = list(writing.encode_many(ROWS, SCHEMA))
    bodies[POISONED] = b"\x00poison\xff"
    put(tasks, bodies)
    config = {f"value.converter.{key}": value for key, value in options.items()}
    found, body, said = run(tasks, {"value.converter": name, **config})
    assert found == GOOD
    assert body == bodies[POISONED]
    assert (said["stage"], said["offset"], said["exception.class.name"]) == ("CONVERTER", str(POISONED), "RecordError")


@pytest.mark.parametrize(
    ("poison", "flag", "error"),
    [
        (b"garbage", COMPRESSED_FLAG | Compression.ZLIB.value, "ProtocolError"),
        (compress(bytes(MAX_BODY_BYTES + 1), Compression.ZLIB), COMPRESSED_FLAG | Compression.ZLIB.value, "UnpacksToMore"),
    ],
    ids=["garbage said to be compressed", "a bomb"],
)
def test_of_a_message_that_a_producer_has_made_unreadable(tasks: Tasks, poison: bytes, flag: int, error: str) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    rows = [json.dumps({"n": number}).encode() for number in range(200)]
    tasks.client.send_batch(queue, [Message(row) for row in rows[:100]], 20)
    unreadable = EncodedBatch(encode_batch([poison]).payload, 1, flag)
    at = tasks.client.send_batch_async(queue, unreadable, 20).result().queue_offset
    tasks.client.send_batch(queue, [Message(row) for row in rows[100:]], 20)
    config = {"value.converter": "json", "value.converter.schemas.enable": "false"}
    found, body, said = run(tasks, config, len(rows))
    assert found == [{"n": number} for number in range(200)]
    assert body == poison
    assert (said["stage"], said["offset"], said["exception.class.name"]) == ("CONVERTER", str(at), error)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param("cast", {"spec": "n:int64,s:int64"}, marks=pytest.mark.slow),
        pytest.param("sql", {"query": "SELECT n, CAST(s AS BIGINT) AS s FROM records"}, marks=pytest.mark.slow),
        ("python", {"function": "users:numbered"}),
    ],
)
def test_of_a_value_that_a_transform_cannot_change(tasks: Tasks, kind: str, options: Mapping[str, str]) -> None:
    writing = converter("json", {}, is_key=False)
    bodies = list(writing.encode_many([*ROWS[:POISONED], {"n": POISONED, "s": "many"}, *ROWS[POISONED + 1 :]], SCHEMA))
    put(tasks, bodies)
    step = {"transforms": "x", "transforms.x.type": kind, **{f"transforms.x.{key}": value for key, value in options.items()}}
    found, body, said = run(tasks, {"value.converter": "json", **step})
    assert found == [{"n": row["n"], "s": row["n"]} for row in GOOD]
    assert body == bodies[POISONED]
    assert (said["stage"], said["offset"]) == ("TRANSFORMATION", str(POISONED))
    assert said["exception.message"].startswith("transform x: ")

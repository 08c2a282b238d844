"""How tasks find and make their topics, against a real broker."""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from rocketconnect_sdk.errors import SystemAway
from rocketmq_remoting.model import Message, Permission
from rocketmq_remoting.protocol.codes import RequestCode
from rocketmq_remoting.protocol.requests import Request
from services.executor.contract.task import Kind
from services.executor.runtime.errors.attempts import Attempts
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq.topics import TopicMaker, clusters, dead_letter_queues
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task_runtime import TaskRuntime
from tests.services.executor.runtime.conftest import RecordingReporter, Tasks

pytestmark = pytest.mark.rocketmq


def made_for(tasks: Tasks, topic: str, write: int, read: int) -> TaskRuntime:
    config = {"errors.deadletterqueue.write.queue.nums": write, "errors.deadletterqueue.read.queue.nums": read}
    policy = ErrorPolicy(tolerant=True, dead_letter_topic=topic, properties=True, log=False, log_values=False)
    attempts = Attempts(TaskControl(), RecordingReporter(), 0.0, 1.0)
    return cast("TaskRuntime", SimpleNamespace(policy=policy, config=config, attempts=attempts, client=tasks.client))


def test_a_dead_letter_topic_with_rocketmq_s_own_name_is_made_as_rocketmq_makes_it(tasks: Tasks) -> None:
    topic = f"%DLQ%group-{tasks.unique}"
    queues = dead_letter_queues(made_for(tasks, topic, 8, 8), TopicMaker(tasks.client, False, 8, "batch"))
    assert [queue.queue_id for queue in queues] == [0]
    made = tasks.client.topic_config(topic)
    assert (made.write_queues, made.read_queues) == (1, 1)
    assert made.permission == Permission.READ | Permission.WRITE
    tasks.client.send(queues[0], Message(b"x"))
    assert tasks.bodies(topic) == ["x"]


@pytest.mark.parametrize(("write", "read", "readable"), [(2, 3, 3), (4, 2, 4)])
def test_every_queue_of_a_dead_letter_topic_that_is_made_can_be_read(tasks: Tasks, write: int, read: int, readable: int) -> None:
    runtime = made_for(tasks, tasks.topic, write, read)
    queues = dead_letter_queues(runtime, TopicMaker(tasks.client, False, 8, "batch"))
    assert len(queues) == write
    made = tasks.client.topic_config(tasks.topic)
    assert (made.write_queues, made.read_queues, made.topic_type) == (write, readable, "normal")
    assert clusters(runtime, [tasks.topic]) == {queues[0].broker: "rocketconnect"}


@pytest.mark.slow
def test_a_topic_that_is_not_announced_yet_is_waited_for_and_neither_made_again_nor_called_missing(tasks: Tasks) -> None:
    client = tasks.client
    client.create_topic(tasks.topic, queues=3)
    for server in client._routes.servers:
        client._topics._do(server, Request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": tasks.topic}), "forget the topic")
    makers = [TopicMaker(client, auto_create=auto_create, queues=8, topic_type="normal") for auto_create in (True, False)]
    for maker in makers:
        with pytest.raises(SystemAway, match="is not announced yet"):
            maker.find(tasks.topic, writable=True)
    deadline = time.monotonic() + 120
    while not client.topic_exists(tasks.topic):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    for maker in makers:
        assert len(maker.find(tasks.topic, writable=True)) == 3


def test_a_batch_topic_is_refused_for_dead_letters_because_corrections_would_not_be_found_in_it(tasks: Tasks) -> None:
    dead = f"dead-{tasks.unique}"
    tasks.client.create_topic(dead, queues=1, topic_type="batch")
    config = {"connector.class": "table", "file": str(tasks.path / "t.db"), "errors.deadletterqueue.topic.name": dead}
    outcome = tasks.start(Kind.SINK, {**config, "errors.tolerance": "all"}).end()
    assert outcome.permanent
    assert f"topic {dead} is a batch topic" in outcome.error
